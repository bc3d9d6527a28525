// runtime/run.hpp -- runs a kernel over a batch: tiles, threads, workspaces.
#pragma once
#include "model/model.hpp"
#include "runtime/job.hpp"

namespace featherweight {

// Returns the union of fault bits. Results do not depend on the number of threads.
template <class T>
unsigned run_kernel(const Model& model, Kernel<T> kernel, const Job<T>& job, std::size_t batch, int n_threads);

}  // namespace featherweight
