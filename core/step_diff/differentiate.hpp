// step_diff/differentiate.hpp -- the derivative of the last step of a batch of environments.
#pragma once
#include "step/environments.hpp"
#include "step_diff/job.hpp"

namespace featherweight {

// How many columns each has, in the order of Wrt.
int column_count(const Simulation& simulation, Wrt x);
// Shapes of the world, in the order of the columns of Wrt::heights.
std::vector<int> ground_shapes(const Scene& scene);

// Inputs, product and columns of the job are used, the rest is filled in. `after`: the environments at the end of the
// step whose solutions were kept.
void differentiate(Environments& after, const KeptSolutions& kept, StepDiffJob job, int n_threads);

}  // namespace featherweight
