/* lhs times rhs transposed, for operands whose modes each have one stride. */
__kernel void strided_matmul(
    __global const float *lhs, const ulong lhs_offset, const ulong lhs_row, const ulong lhs_inner,
    __global const float *rhs, const ulong rhs_offset, const ulong rhs_row, const ulong rhs_inner,
    __global float *result, const ulong rows, const ulong inner, const ulong size)
{
    const ulong item = get_global_id(0);
    if (item >= size) return;
    __global const float *left = lhs + lhs_offset + item % rows * lhs_row;
    __global const float *right = rhs + rhs_offset + item / rows * rhs_row;
    float total = 0.0f;
    for (ulong k = 0; k < inner; ++k) {
        const float product = left[k * lhs_inner] * right[k * rhs_inner];
        total += product;
    }
    result[item] = total;
}
