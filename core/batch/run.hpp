// batch/run.hpp -- runs a kernel over a batch: tiles, threads, workspaces.
#pragma once
#include "batch/job.hpp"
#include "model/model.hpp"

namespace featherweight {

// Returns the union of fault bits. Results do not depend on the number of threads.
template <class T>
unsigned run_kernel(const Model& model, Kernel<T> kernel, const Job<T>& job, std::size_t batch, int n_threads);

// How often a workspace had to grow, over all threads, since the process started.
long workspace_allocations();
void count_workspace_allocation();

}  // namespace featherweight
