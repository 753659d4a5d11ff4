#include "independent.h"
#include <string.h>

static const struct {
    const char *format;
    independent_decoder *decode;
} decoders[] = {
    {"f32", independent_f32},         {"f16", independent_f16},         {"q4_0", independent_q4_0},
    {"q4_1", independent_q4_1},       {"q5_0", independent_q5_0},       {"q5_1", independent_q5_1},
    {"q8_0", independent_q8_0},       {"q2_K", independent_q2_k},       {"q3_K", independent_q3_k},
    {"q4_K", independent_q4_k},       {"q5_K", independent_q5_k},       {"q6_K", independent_q6_k},
    {"q8_K", independent_q8_k},       {"iq2_xxs", independent_iq2_xxs}, {"iq2_xs", independent_iq2_xs},
    {"iq3_xxs", independent_iq3_xxs}, {"iq1_s", independent_iq1_s},     {"iq4_nl", independent_iq4_nl},
    {"iq3_s", independent_iq3_s},     {"iq2_s", independent_iq2_s},     {"iq4_xs", independent_iq4_xs},
    {"iq1_m", independent_iq1_m},     {"bf16", independent_bf16},       {"mxfp4", independent_mxfp4},
};

independent_decoder *independent_decoder_of(const char *format) {
    for (size_t i = 0; i < sizeof decoders / sizeof *decoders; i++)
        if (!strcmp(decoders[i].format, format))
            return decoders[i].decode;
    return NULL;
}
