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
LIBRARY = (
    "abort abs atexit atof atoi atol bsearch calloc div exit fclose fopen fprintf fputs fread free fscanf fwrite "
    "getc write getenv gets time labs malloc memcmp memcpy memmove memset perror printf putc puts qsort raise rand "
    "read realloc remove rename scanf signal sprintf srand sscanf strcat strchr strcmp strcpy strlen "
    "strncpy strtod strtol system"
)
"""Functions of the C library, which a function of that name would take the place of."""


def is_taken(name: str, text: str) -> bool:
    """Whether C or the text of a file uses that name.

    >>> is_taken("tanhf", ""), is_taken("linear", "linear(weight0, 0)"), is_taken("network", "")
    (True, True, False)
    """
    known = {f"{word}{end}" for word in MATH.split() for end in ("", "f", "l")}
    known |= {*WORDS.split(), *MACROS.split(), *LIBRARY.split()}
    return name in known or name.startswith(("FP_", "M_", "__")) or name in re.findall(r"\w+", text)
