#include "independent.h"
#include <string.h>

static void decode_q4_k(const uint8_t *block, uint32_t *bits) {
    for (unsigned e = 0; e < 256; e++)
        bits[e] = independent_q4_k_value(block, e);
}

static const struct {
    const char *format;
    independent_decoder *decode;
} decoders[] = {
    {"q4_K", decode_q4_k},          {"iq2_xxs", independent_iq2_xxs},
    {"iq2_xs", independent_iq2_xs}, {"iq3_xxs", independent_iq3_xxs},
    {"iq1_s", independent_iq1_s},   {"iq3_s", independent_iq3_s},
    {"iq2_s", independent_iq2_s},   {"iq1_m", independent_iq1_m},
};

independent_decoder *independent_decoder_of(const char *format) {
    for (size_t i = 0; i < sizeof decoders / sizeof *decoders; i++)
        if (!strcmp(decoders[i].format, format))
            return decoders[i].decode;
    return NULL;
}
