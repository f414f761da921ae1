"""The C functions that steps call, by name; a file has those that it uses.

Means, norms and sums of exponentials are added up in double, whatever `real` is: there are few of them, and in float a
mean over 224 x 224 pixels would be off by 8e-6.
"""

from __future__ import annotations

__all__ = ["CURVES", "LOOPS", "TYPES"]

POWERS = """real sum = c[degree];
            for (int k = degree - 1; k >= 0; --k) sum = sum * t + c[k];
            *out = {result};"""
SERIES = """double one = 0, two = 0;
            for (int k = degree; k >= 1; --k) {{
                const double next = 2 * t * one - two + c[k];
                two = {one};
                one = next;
            }}
            const double sum = t * one - two + c[0];
            *out = (real)({result});"""
CURVE = """
static void {name}(const real *table, int degree, {ends}
    int outer, int channels, int inner, const real *in, real *out)
{{
    for (int row = 0; row < outer * channels; ++row) {{
        const real *c = table + row % channels * (degree + {width});
        for (int i = 0; i < inner; ++i, ++in, ++out) {{
            const {kind} d = (*in - high) - low, {held}t = {position} * scale;
            {sum}
        }}
    }}
}}
"""
LINES = """const real slope = d < left ? c[degree + 1] : c[degree + 2];
            """
ROOM = (
    "one - one == 0 ? one : 0"  # 0 after an overflow, which would be inf - inf; the sign is that of the largest power
)


def _curve(name: str, kind: str, sum_: str, tails: bool) -> str:
    ends = [f"{kind} {each}" for each in ("high", "low", "scale", *(("left", "right") if tails else ()))]
    held = "near = d < left ? left : d > right ? right : d, " if tails else ""
    result = "sum + (slope == 0 ? 0 : (d - near) * slope)" if tails else "sum"  # a flat line is flat at infinity
    text = (LINES if tails else "") + sum_.format(result=result, one="one" if tails else ROOM)
    words = {"name": name, "kind": kind, "held": held, "position": "near" if tails else "d"}
    return CURVE.format(ends=", ".join(ends) + ",", width=3 if tails else 1, sum=text, **words)


CURVES = {
    f"{name}{suffix}": _curve(f"{name}{suffix}", kind, text, tails)
    for name, kind, text in (("powers", "real", POWERS), ("series", "double", SERIES))
    for suffix, tails in (("", False), ("_with_lines", True))
}
"""Learned activations: in powers of t or as a Chebyshev series, with or without straight lines outside.

d is the distance from the middle, which has two parts. A series is summed in double: Clenshaw's rule multiplies
rounding errors near the ends by up to degree^2.
"""

TYPES = {
    "window": """
typedef struct {
    int groups, inputs, outputs; /* channels per group */
    int height, width, rows, columns; /* of a plane of the input and of the result */
    int kernel_y, kernel_x, stride_y, stride_x, pad_y, pad_x, dilation_y, dilation_x;
} window;
"""
}

LOOPS = {
    **CURVES,
    "linear": """
static void linear(const real *weight, const real *bias, int inputs, int outputs, const real *in, real *out)
{
    for (int i = 0; i < outputs; ++i) {
        real sum = bias ? bias[i] : 0;
        for (int k = 0; k < inputs; ++k) sum += weight[i * inputs + k] * in[k];
        out[i] = sum;
    }
}
""",
    "affine": """
static void affine(const real *factor, const real *shift, int outer, int channels, int inner,
    const real *in, real *out)
{
    for (int row = 0; row < outer * channels; ++row) {
        const real a = factor ? factor[row % channels] : 1, b = shift ? shift[row % channels] : 0;
        for (int i = 0; i < inner; ++i, ++in, ++out) *out = *in * a + b;
    }
}
""",
    "reduce": """
static void reduce(double factor, int outer, int length, int inner, const real *in, real *out)
{
    for (int row = 0; row < outer; ++row)
        for (int i = 0; i < inner; ++i) {
            double sum = 0;
            for (int k = 0; k < length; ++k) sum += in[(row * length + k) * inner + i];
            *out++ = (real)(sum * factor);
        }
}
""",
    "normalize": """
static void normalize(double eps, int rows, int length, const real *in, real *out)
{
    for (int row = 0; row < rows; ++row, in += length, out += length) {
        double mean = 0, square = 0;
        for (int i = 0; i < length; ++i) mean += in[i];
        mean /= length;
        for (int i = 0; i < length; ++i) square += (in[i] - mean) * (in[i] - mean);
        const double scale = 1 / sqrt(square / length + eps);
        for (int i = 0; i < length; ++i) out[i] = (real)((in[i] - mean) * scale);
    }
}
""",
    "softmax": """
static void softmax(int logarithm, int outer, int length, int inner, const real *in, real *out)
{
    for (int row = 0; row < outer * inner; ++row) {
        const int start = row / inner * length * inner + row % inner;
        real most = in[start];
        double sum = 0;
        for (int k = 1; k < length; ++k) most = in[start + k * inner] > most ? in[start + k * inner] : most;
        for (int k = 0; k < length; ++k) sum += exp(in[start + k * inner] - most);
        for (int k = 0; k < length; ++k) {
            const real v = in[start + k * inner] - most;
            out[start + k * inner] = (real)(logarithm ? v - log(sum) : exp(v) / sum);
        }
    }
}
""",
    "convolution": """
/* The results from first_of to end_of read inside of a plane at one place of the kernel. */
static int first_of(int shift, int stride)
{
    return shift > 0 ? (shift + stride - 1) / stride : 0;
}

static int end_of(int size, int shift, int stride, int most)
{
    const int end = size + shift > 0 ? (size + shift + stride - 1) / stride : 0;
    return end < most ? end : most;
}

static void convolution(const real *weight, const real *bias, const window *s, const real *in, real *out)
{
    const int plane = s->height * s->width, result = s->rows * s->columns;
    for (int o = 0; o < s->groups * s->outputs; ++o, out += result) {
        const real *from = in + o / s->outputs * s->inputs * plane;
        for (int i = 0; i < result; ++i) out[i] = bias ? bias[o] : 0;
        for (int c = 0; c < s->inputs; ++c, from += plane)
            for (int ky = 0; ky < s->kernel_y; ++ky) {
                const int up = s->pad_y - ky * s->dilation_y;
                const int last = end_of(s->height, up, s->stride_y, s->rows);
                for (int kx = 0; kx < s->kernel_x; ++kx) {
                    const int back = s->pad_x - kx * s->dilation_x;
                    const int begin = first_of(back, s->stride_x);
                    const int end = end_of(s->width, back, s->stride_x, s->columns);
                    const real w = *weight++;
                    for (int y = first_of(up, s->stride_y); y < last; ++y) {
                        const int start = (y * s->stride_y - up) * s->width - back;
                        for (int x = begin; x < end; ++x)
                            out[y * s->columns + x] += w * from[start + x * s->stride_x];
                    }
                }
            }
    }
}
""",
    "max_pool": """
static void max_pool(const window *s, const real *in, real *out)
{
    for (int c = 0; c < s->groups; ++c, in += s->height * s->width)
        for (int y = 0; y < s->rows; ++y)
            for (int x = 0; x < s->columns; ++x) {
                real most = (real)-HUGE_VAL;
                for (int ky = 0; ky < s->kernel_y; ++ky)
                    for (int kx = 0; kx < s->kernel_x; ++kx) {
                        const int row = y * s->stride_y - s->pad_y + ky * s->dilation_y;
                        const int column = x * s->stride_x - s->pad_x + kx * s->dilation_x;
                        if (row < 0 || row >= s->height || column < 0 || column >= s->width) continue;
                        const real v = in[row * s->width + column];
                        if (v > most || v != v) most = v;
                    }
                *out++ = most;
            }
}
""",
    "average_pool": """
static int within(int place, int most)
{
    return place < 0 ? 0 : place < most ? place : most;
}

static void average_pool(int border_counts, int divisor, const window *s, const real *in, real *out)
{
    for (int c = 0; c < s->groups; ++c, in += s->height * s->width)
        for (int y = 0; y < s->rows; ++y)
            for (int x = 0; x < s->columns; ++x) {
                const int top = y * s->stride_y - s->pad_y, left = x * s->stride_x - s->pad_x;
                int end = top + s->kernel_y, right = left + s->kernel_x;
                if (end > s->height + s->pad_y) end = s->height + s->pad_y;
                if (right > s->width + s->pad_x) right = s->width + s->pad_x;
                const int first = within(top, s->height), last = within(end, s->height);
                const int begin = within(left, s->width), stop = within(right, s->width);
                const int numbers = border_counts ? (end - top) * (right - left) : (last - first) * (stop - begin);
                double sum = 0;
                for (int i = first; i < last; ++i)
                    for (int k = begin; k < stop; ++k) sum += in[i * s->width + k];
                *out++ = (real)(sum / (divisor ? divisor : numbers));
            }
}
""",
}
