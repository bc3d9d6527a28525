// lanes/config.hpp -- which instruction set this translation unit is compiled for.
//
// Kernel sources are compiled once per instruction set; everything with code in it lives in the namespace
// featherweight::FW_ISA, so that the linker can never merge two builds of one function (docs/adr/0003).
//   FW_ISA         namespace of this build: scalar, baseline, v3, v4, counting (kernels) or host (everything else)
//   FW_LANE_BYTES  size of a vector register in bytes; 0 means plain scalars
#pragma once

#ifndef FW_ISA
#define FW_ISA host
#endif
#ifndef FW_LANE_BYTES
#define FW_LANE_BYTES 0
#endif

// Whether a * b + c is rounded once. (Sanitized builds optimise too little for that.)
#if (defined(__FMA__) || defined(__ARM_FEATURE_FMA)) && !defined(FW_UNFUSED)
#define FW_HAS_FMA
#endif

// Kernels are built from many small functions; one that stays out of line costs more than its body.
#define FW_INLINE __attribute__((always_inline)) inline
#define FW_LAMBDA_INLINE __attribute__((always_inline))
