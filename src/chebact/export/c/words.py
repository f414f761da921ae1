"""The names that a function in a C file cannot have."""

from __future__ import annotations

import re

__all__ = ["is_taken"]

WORDS = (
    "auto break case char const continue default do double else enum extern float for goto if inline int long main "
    "register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while "
    "_Bool _Complex _Imaginary in out work real"
)
"""The keywords of C99, and the words that every file has."""
MATH = (
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor fma "
    "fmax fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan "
    "nearbyint nextafter nexttoward pow remainder remquo rint round scalbln scalbn sin sinh sqrt tan tanh tgamma trunc "
    "j0 j1 jn y0 y1 yn gamma signgam"
)
"""What math.h declares, each also with f and l at its end."""
MACROS = (
    "NAN INFINITY HUGE_VAL HUGE_VALF HUGE_VALL MATH_ERRNO MATH_ERREXCEPT math_errhandling float_t double_t fpclassify "
    "isfinite isinf isnan isnormal signbit isgreater isgreaterequal isless islessequal islessgreater isunordered "
    "linux unix asm typeof errno NULL"
)
"""What math.h and compilers define besides; names that begin with FP_ and M_ too."""
COMPLEX = (
    "cabs cacos cacosh carg casin casinh catan catanh ccos ccosh cexp cimag clog conj cpow cproj creal csin csinh "
    "csqrt ctan ctanh"
)
"""What complex.h declares, each also with f and l at its end."""
LIBRARY = (
    "abort abs atexit atof atoi atol atoll bsearch calloc div exit _Exit free getenv imaxabs imaxdiv labs ldiv llabs "
    "lldiv malloc mblen mbstowcs mbtowc qsort rand realloc srand strtod strtof strtoimax strtol strtold strtoll "
    "strtoul strtoull strtoumax system wcstoimax wcstombs wcstoumax wctomb isalnum isalpha isblank iscntrl isdigit "
    "isgraph islower isprint ispunct isspace isupper isxdigit tolower toupper memchr memcmp memcpy memmove memset "
    "strcat strchr strcmp strcoll strcpy strcspn strerror strlen strncat strncmp strncpy strpbrk strrchr strspn "
    "strstr strtok strxfrm clearerr fclose feof ferror fflush fgetc fgetpos fgets fopen fprintf fputc fputs fread "
    "freopen fscanf fseek fsetpos ftell fwrite getc getchar gets perror printf putc putchar puts remove rename rewind "
    "scanf setbuf setvbuf snprintf sprintf sscanf stderr stdin stdout tmpfile tmpnam ungetc vfprintf vfscanf vprintf "
    "vscanf vsnprintf vsprintf vsscanf asctime clock ctime difftime gmtime localtime mktime raise read setlocale "
    "localeconv signal strftime time write"
)
"""Functions of the C library, which a function of that name would take the place of."""


def is_taken(name: str, text: str) -> bool:
    """Whether C or the text of a file uses that name.

    >>> is_taken("tanhf", ""), is_taken("linear", "linear(weight0, 0)"), is_taken("network", "")
    (True, True, False)
    """
    known = {f"{word}{end}" for word in (MATH + " " + COMPLEX).split() for end in ("", "f", "l")}
    known |= {*WORDS.split(), *MACROS.split(), *LIBRARY.split()}
    return name in known or name.startswith(("FP_", "M_", "__")) or name in re.findall(r"\w+", text)
