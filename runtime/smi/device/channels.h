/* SPDX-License-Identifier: Apache-2.0
 *
 * Function that sources rewritten by python/thalweg/systems/smi/rewrite.py call for each declared channel.
 */
#ifndef SMI_CHANNELS_H
#define SMI_CHANNELS_H

#ifdef __cplusplus
extern "C" {
#endif
void smi__channel(void* to, void* place, unsigned long bytes, unsigned long element, long depth,
#ifdef __OPENCL_C_VERSION__
                  __constant
#endif
                  const char* name);
#ifdef __cplusplus
}
#endif
#endif
