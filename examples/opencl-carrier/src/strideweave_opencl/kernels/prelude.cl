/* Every product and sum is rounded on its own. */
#pragma OPENCL FP_CONTRACT OFF

/* NaN wins; mixed zeros give +0. */
float larger(float x, float y) {
    if (isnan(x) || isnan(y)) return NAN;
    if (x > y) return x;
    if (y > x) return y;
    return signbit(x) ? y : x;
}

/* NaN wins; mixed zeros give -0. */
float smaller(float x, float y) {
    return -larger(-x, -y);
}

float sign_of(float x) {
    if (isnan(x)) return x;
    return (float)(x > 0.0f) - (float)(x < 0.0f);
}

/* The exponential of a magnitude's negative cannot overflow. */
float logistic(float x) {
    const float decay = exp(-fabs(x));
    return (x >= 0.0f ? 1.0f : decay) / (1.0f + decay);
}

/* Leaves the int range as soon as the exact power does. */
long integer_power(long base, long exponent) {
    if (base == 0 || base == 1) return exponent ? base : 1;
    if (base == -1) return exponent % 2 ? -1 : 1;
    long power = 1;
    for (long step = 0; step < exponent && power == (int)power; ++step) power *= base;
    return power;
}

/* Truncates; anything without an int becomes one that is out of range. */
long truncated(float x) {
    return x >= -2147483648.0f && x < 2147483648.0f ? (long)x : LONG_MAX;
}
