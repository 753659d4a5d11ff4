// q4_K x pad40 -> f32, tile 128 tokens x 128 rows, A fragments by ldmatrix, 16 chains a warp ("generation r12").
//
// 256 threads = 8 warps; a warp owns 16 rows x 128 tokens = 8 token groups x 2 row groups = 16 independent chains of
// mma.m16n8k32 per 32-chunk. A stage is KD chunks. Planes of the dynamic arena, in order and without gaps:
//
//   qa8    [KD][128 tokens][32 B]   int8 activations
//   sda_q  [KD][256] words          (f16 d | int16 sum) of a token; 128 used
//   qb8    [128 rows][256 B]        a super-block, nibbles widened to bytes: 8 rows start in one bank, and the words of
//                                   a B fragment are read one by one
//   sds    [KD][128 rows] float     d * sc
//   sdm    [KD][128 rows] float     -dmin * m
//
// mmq_wide_ldb.cu has the same work and contract, in planes laid out anew.
// Numeric contract: ref/q4_k_pad40_two_term.c.
#include "fragment.cuh"
#include "rescale.cuh"
#include "stage_pad40.cuh"
#include "stage_q4_k.cuh"

constexpr int TOKENS = 128, ROWS = 128, THREADS = 256;
constexpr int GROUPS = TOKENS / 16;
constexpr int ROW = 256; // bytes of a row in qb8

template <int KD> struct Arena {
    static constexpr int qa8 = 0;
    static constexpr int sda_q = qa8 + KD * TOKENS * 32 + CANARY;
    static constexpr int qb8 = sda_q + KD * 256 * 4 + CANARY;
    static constexpr int sds = qb8 + ROWS * ROW + CANARY;
    static constexpr int sdm = sds + KD * ROWS * 4 + CANARY;
    static constexpr int bytes = sdm + KD * ROWS * 4 - 4 * CANARY;
};
static_assert(Arena<8>::bytes == 81920 && Arena<4>::bytes == 57344, "published arena sizes");

template <int KD>
__device__ __forceinline__ void mmq_wide_lda(const uint8_t *__restrict__ w, // (od, id / 256) q4_K blocks
                                             const uint8_t *__restrict__ x, // (nt, id / 32) pad40 blocks
                                             float *__restrict__ y,         // (nt, od)
                                             int nt, int od, int id) {
    using A = Arena<KD>;
    SHARED_ARENA(arena);
    const int t0 = blockIdx.x * TOKENS, j0 = blockIdx.y * ROWS;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int chunks = id / 32, supers = id / 256;

    // The lane's places in the planes, at chunk 0.
    const uint32_t base = shared_address(arena);
    const uint32_t a_lane = base + A::qa8 + a_fragment(lane, 32);
    const uint8_t *b_lane = arena + A::qb8 + warp * 16 * ROW + b_word(lane, ROW);
    const uint8_t *sda_lane = arena + A::sda_q + c_token(lane, 0) * 4;
    const uint32_t sds_lane = base + A::sds + (warp * 16 + c_row(lane, 0)) * 4;
    const uint32_t sdm_lane = base + A::sdm + (warp * 16 + c_row(lane, 0)) * 4;

    float sum[GROUPS][2][4];
    clear_tile(sum);
    for (int chunk0 = 0; chunk0 < chunks; chunk0 += KD) {
        __syncthreads(); // the stage before has been read
        stage_quants<KD, TOKENS, THREADS>(arena + A::qa8, x, t0, nt, chunk0, chunks);
        stage_words<KD, TOKENS, 256, THREADS>(arena + A::sda_q, x, t0, nt, chunk0, chunks);
        if (chunk0 % 8 == 0) {
            stage_expanded<ROWS, 32, ROW, THREADS>(arena + A::qb8, w, j0, od, chunk0 / 8, supers);
        }
        stage_scales_apart<KD, ROWS, ROWS, THREADS>(arena + A::sds, arena + A::sdm, w, j0, od, chunk0, supers);
        __syncthreads();

#pragma unroll 1
        for (int kd = 0; kd < KD; ++kd) {
            uint32_t b[2][2]; // {b0, b1} of rows 0-7, of rows 8-15
            float4 scale[2];  // (ds, dm) of rows 2t and 2t+1
#pragma unroll
            for (int n = 0; n < 2; ++n) {
                const uint8_t *word = b_lane + n * 8 * ROW + (chunk0 + kd) % 8 * 32;
                b[n][0] = *(const uint32_t *)word;
                b[n][1] = *(const uint32_t *)(word + 16);
                const uint32_t ds = sds_lane + (kd * ROWS + n * 8) * 4, dm = sdm_lane + (kd * ROWS + n * 8) * 4;
                scale[n] = make_float4(shared_float(ds), shared_float(dm), shared_float(ds + 4), shared_float(dm + 4));
            }
#pragma unroll
            for (int g = 0; g < GROUPS; ++g) {
                uint32_t a[4];
                ldmatrix_x4(a, a_lane + (kd * TOKENS + g * 16) * 32);
                const uint32_t *words = (const uint32_t *)(sda_lane + (kd * 256 + g * 16) * 4);
                const TokenPair tokens = token_pair(words[0], words[8]);
#pragma unroll
                for (int n = 0; n < 2; ++n) {
                    int32_t c[4];
                    mma_m16n8k32_s8(c, a, b[n][0], b[n][1]);
                    fold_two_term(sum[g][n], c, tokens, scale[n]);
                }
            }
        }
    }
    store_tile(y, sum, t0, j0 + warp * 16, nt, od, lane);
}

#define MMQ_WIDE_LDA(KD)                                                                                               \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                              \
        mmq_wide_lda_kd##KD(const uint8_t *__restrict__ w, const uint8_t *__restrict__ x, float *__restrict__ y,       \
                            int nt, int od, int id) {                                                                  \
        mmq_wide_lda<KD>(w, x, y, nt, od, id);                                                                         \
    }
MMQ_WIDE_LDA(4)
MMQ_WIDE_LDA(8)
