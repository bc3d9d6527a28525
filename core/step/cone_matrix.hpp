// step/cone_matrix.hpp -- the matrix of one environment's cone problem.
//
// Rows couple if they act on the same tree. A robot's all do: its matrix is dense. In a pile of bodies each touches a
// few others only: beyond `ProblemSizes::most_dense_rows` only those blocks are kept, and cost and memory grow with the
// contacts. So it is for robots side by side, which are solved island by island. Where it is not wanted at all, or
// where hundreds of contacts act on one tree, products go through the trees (quartet_rows.hpp, walked_rows.hpp), and
// the diagonal blocks are what is kept.
#pragma once
#include "cones/kernels.hpp"
#include "cones/matrix.hpp"
#include "cones/tuning.hpp"
#include "step/quartet_rows.hpp"
#include "step/sparse_assembly.hpp"
#include "step/walked_rows.hpp"

namespace featherweight::FW_ISA {

template <class S>
class ConeMatrix {
 public:
  ContactMatrix G{};
  double* lambda;  // padded by zeros
  double* sigma;   // scratch of m numbers
  double* mu;      // scratch of m numbers, padded by zeros
  double* give;    // scratch of m numbers
  void* scratch;   // of the solver

  ConeMatrix(const Scene& scene, ConeRows<S>& rows, const ContactKernels& kernels, const SolverOptions& options,
             Memory& memory)
      : scene_(scene), rows_(rows), product_(scene, rows), walked_(scene, rows) {
    const bool sparse = rows.m > ProblemSizes::most_dense_rows ||
                        (rows.m > ProblemSizes::least_island_rows && options.solver == Solver::automatic &&
                         fall_apart<ProblemSizes::most_dense_rows>(rows.quartets, rows.n_quartets));
    if (sparse || rows.has_others) rows.unpack_balls();
    if (options.matrix_free && has_trees_alone(scene))
      fill_for_products(kernels, options, memory);
    else if (sparse)
      fill_sparse(kernels, options, memory);
    else
      fill_dense(kernels, options, memory);
    for (int i = 0; i < rows.m; ++i) lambda[i] = *rows.rows[i].kept - rows.rows[i].known;
    for (int i = rows.m; i < rows.m + 4; ++i) lambda[i] = mu[i] = 0;
  }

  // In room that is kept.
  static void* operator new(std::size_t, void* room) { return room; }

  // Of degrees of freedom, where the matrix is not formed: scratch between products.
  double* of_dofs() const { return of_dofs_; }
  ConeProblem problem() const { return {rows_.m, rows_.n_blocks, rows_.blocks, G, rows_.g, rows_.scale}; }

 private:
  const Scene& scene_;
  const ConeRows<S>& rows_;
  ConeOperator product_;
  WalkedRows walked_;
  double* of_dofs_ = nullptr;
  MatrixProducts products_;

  // Carves what all kinds need; `more` carves the rest.
  template <class More>
  void make_room(const ContactKernels& kernels, const SolverOptions& options, Memory& memory, const More& more) {
    const std::size_t m = rows_.m;
    std::size_t scratch_bytes = 0;
    carve_out(memory, [&](Arena& pieces) {
      lambda = pieces.take<double>(m + 8);
      sigma = pieces.take<double>(m + 8);
      mu = pieces.take<double>(m + 8);
      give = pieces.take<double>(m);
      more(pieces);
      if (scratch_bytes == 0) scratch_bytes = kernels.scratch_bytes(problem(), options);
      scratch = pieces.take<char>(scratch_bytes);
    });
  }

  void fill_dense(const ContactKernels& kernels, const SolverOptions& options, Memory& memory) {
    const int m = rows_.m, stride = (m + 4 + 7) / 8 * 8;  // four rows are written at a time, zeros below the last
    double* values = nullptr;
    RowSpan *of_quartets = nullptr, *of_blocks = nullptr, *of_clusters = nullptr;
    make_room(kernels, options, memory, [&](Arena& pieces) {
      values = pieces.take<double>(static_cast<std::size_t>(stride) * stride);
      G = {values, stride};
      of_quartets = pieces.take<RowSpan>(rows_.n_quartets);
      of_blocks = pieces.take<RowSpan>(rows_.n_blocks);
      of_clusters = pieces.take<RowSpan>(scene_.tree.n_links);
    });
    const bool is_band = rows_.has_others && find_spans(of_clusters, of_quartets, of_blocks);
    if (is_band) G.spans = of_blocks;
    if (rows_.has_others)
      write_quartets(is_band ? of_quartets : nullptr, values, stride);
    else
      write_balls(values, stride);
    end_columns(values, stride);
    if (!rows_.is_soft) return;
    for (int i = 0; i < m; ++i) values[static_cast<std::size_t>(i) * (stride + 1)] += rows_.rows[i].compliance;
  }

  // Rows that quartets and blocks may couple with: from the first to the last that acts on a tree of theirs. In a stack
  // they are few. False where they are all rows.
  bool find_spans(RowSpan* of_clusters, RowSpan* of_quartets, RowSpan* of_blocks) const {
    const auto for_clusters = [&](const Quartet& quartet, const auto& f) FW_LAMBDA_INLINE {
      for (int e = 0; e < quartet.n_ends; ++e) f(of_clusters[quartet.ends[e].cluster]);
    };
    for (int i = 0; i < rows_.n_quartets; ++i)
      for_clusters(rows_.quartets[i], [&](RowSpan& span) FW_LAMBDA_INLINE { span = {rows_.m, 0}; });
    for (int i = 0; i < rows_.n_quartets; ++i)
      for_clusters(rows_.quartets[i], [&](RowSpan& span) FW_LAMBDA_INLINE { widen(rows_of(rows_.quartets[i]), span); });
    bool is_band = false;
    for (int i = 0, j = 0; i < rows_.n_quartets; ++i) {
      const Quartet& quartet = rows_.quartets[i];
      RowSpan& own = of_quartets[i] = rows_of(quartet);
      for_clusters(quartet, [&](const RowSpan& span) FW_LAMBDA_INLINE { widen(span, own); });
      for (; j < rows_.n_blocks && rows_.blocks[j].first < quartet.first + quartet.rows; ++j) of_blocks[j] = own;
      is_band |= own.end - own.first < rows_.m;
    }
    return is_band;
  }
  static FW_INLINE RowSpan rows_of(const Quartet& quartet) { return {quartet.first, quartet.first + quartet.rows}; }
  static FW_INLINE void widen(const RowSpan& by, RowSpan& span) {
    span.first = by.first < span.first ? by.first : span.first;
    span.end = by.end > span.end ? by.end : span.end;
  }
  // Zeros up to multiples of four.
  void end_columns(double* values, int stride) const {
    for (int j = 0; j < rows_.n_blocks; ++j) {
      const RowSpan span = G.spans ? G.spans[j] : RowSpan{0, rows_.m};
      for (int c = 0; c < rows_.blocks[j].rows; ++c) {
        double* const column = values + static_cast<std::size_t>(rows_.blocks[j].first + c) * stride;
        for (int r = span.first & ~3; r < span.first; ++r) column[r] = 0;
        *reinterpret_cast<LooseRows*>(column + span.end) = Rows{};
      }
    }
  }

  FW_INLINE Block4 couple_balls(const Quartet& a, const Quartet& b) const {
    const S* const e = rows_.balls().block(a.ball, b.ball);
    const LaneOf<S> lane = rows_.lane();
    const auto column = [&](int c) FW_LAMBDA_INLINE {
      return Rows{lane(e[3 * c]), lane(e[3 * c + 1]), lane(e[3 * c + 2]), 0};
    };
    return {{column(0), column(1), column(2), Rows{}}};
  }

  // Blocks from the first to the last: what is below a block is written after its zeros.
  void write_balls(double* values, int stride) const {
    const auto write = [&](const Block4& block, int row, int column) FW_LAMBDA_INLINE {
      double* const to = values + static_cast<std::size_t>(column) * stride + row;
      *reinterpret_cast<LooseRows*>(to) = block.columns[0];
      *reinterpret_cast<LooseRows*>(to + stride) = block.columns[1];
      *reinterpret_cast<LooseRows*>(to + 2 * stride) = block.columns[2];
    };
    for (int i = 0; i < rows_.n_quartets; ++i) {
      for (int j = 0; j < i; ++j) {
        const Block4 block = couple_balls(rows_.quartets[i], rows_.quartets[j]);
        write(transposed(block), 3 * j, 3 * i);
        write(block, 3 * i, 3 * j);
      }
      write(couple_balls(rows_.quartets[i], rows_.quartets[i]), 3 * i, 3 * i);
    }
  }
  // spans: of quartets; null: all rows
  void write_quartets(const RowSpan* spans, double* values, int stride) const {
    const auto write = [&](const Block4& block, const Quartet& a, const Quartet& b) FW_LAMBDA_INLINE {
      double* const column = values + static_cast<std::size_t>(b.first) * stride + a.first;
      const auto put = [&](int c)
                           FW_LAMBDA_INLINE { *reinterpret_cast<LooseRows*>(column + c * stride) = block.columns[c]; };
      put(0);  // written out, so that the block stays in registers
      if (b.rows > 1) put(1);
      if (b.rows > 2) put(2);
      if (b.rows > 3) put(3);
    };
    const auto couple_quartets = [&](const Quartet& a, const Quartet& b) FW_LAMBDA_INLINE {
      return a.ball < 0 || b.ball < 0 ? couple(scene_, a, b) : couple_balls(a, b);
    };
    const auto write_both = [&](const Block4& block, const Quartet& a, const Quartet& b) FW_LAMBDA_INLINE {
      if (&a != &b) write(transposed(block), b, a);
      write(block, a, b);
    };
    const Quartet* const quartets = rows_.quartets;
    for (int i = 0; i < rows_.n_quartets; ++i) {
      const Quartet &a = quartets[i], &b = quartets[i + 1];
      const bool two = i + 1 < rows_.n_quartets && a.ball < 0 && b.ball < 0 && act_together(a, b);
      for (int j = 0; j <= i; ++j) {
        const Quartet& c = quartets[j];
        if (spans && c.first < spans[i].first && a.first >= spans[j].end) continue;
        if (!share_a_tree(a, c)) {
          const Block4 none = {};
          write(none, c, a), write(none, a, c);
          if (two) write(none, c, b), write(none, b, c);
        } else if (two && c.rows < 4) {
          const TwoBlocks blocks = couple_two(scene_, a, b, c);
          write_both(blocks.first, a, c);
          write_both(blocks.second, b, c);
        } else {
          write_both(couple_quartets(a, c), a, c);
          if (two) write_both(couple_quartets(b, c), b, c);
        }
      }
      if (two) write_both(couple(scene_, b, b), b, b), ++i;
    }
  }

  void fill_for_products(const ContactKernels& kernels, const SolverOptions& options, Memory& memory) {
    fill_diagonal(kernels, options, memory, product_);
    product_.load(rows_.dofs(), rows_.lane());
    products_ = product_.products();
    of_dofs_ = product_.of_dofs();
  }
  void fill_for_walks(const ContactKernels& kernels, const SolverOptions& options, Memory& memory) {
    fill_diagonal(kernels, options, memory, walked_);
    walked_.start();
    products_ = walked_.products();
    of_dofs_ = walked_.of_dofs();
  }

  // Blocks lie within quartets, in the same order. products: takes the rest of the room.
  template <class Products>
  void fill_diagonal(const ContactKernels& kernels, const SolverOptions& options, Memory& memory, Products& products) {
    std::size_t n_values = 0;
    for (int j = 0; j < rows_.n_blocks; ++j) n_values += rows_.blocks[j].rows * rows_.blocks[j].rows;
    double* values = nullptr;
    std::size_t* at = nullptr;
    make_room(kernels, options, memory, [&](Arena& pieces) {
      values = pieces.take<double>(n_values);
      at = pieces.take<std::size_t>(rows_.n_blocks);
      products.make_room(pieces);
      G = {values, 0, nullptr, nullptr, at, &products_};
    });
    std::size_t v = 0;
    for (int i = 0, j = 0; i < rows_.n_quartets; ++i) {
      const Quartet& quartet = rows_.quartets[i];
      const Block4 own = couple(scene_, quartet, quartet);
      for (; j < rows_.n_blocks && rows_.blocks[j].first < quartet.first + quartet.rows; ++j) {
        const Block& block = rows_.blocks[j];
        at[j] = v;
        for (int c = 0; c < block.rows; ++c)
          for (int r = 0; r < block.rows; ++r) {
            const double x = own.columns[block.first - quartet.first + c][block.first - quartet.first + r];
            values[v++] = r == c ? x + rows_.rows[block.first + c].compliance : x;
          }
      }
    }
  }

  void fill_sparse(const ContactKernels& kernels, const SolverOptions& options, Memory& memory) {
    SparseAssembly<S> assembly(scene_, rows_);
    const auto carve_all = [&] {
      make_room(kernels, options, memory, [&](Arena& pieces) {
        assembly.make_room(pieces);
        G = assembly.matrix();
      });
    };
    carve_all();
    if (assembly.is_crowded()) return fill_for_walks(kernels, options, memory);
    assembly.place_columns();  // how many values there are
    carve_all();               // with room for them
    assembly.place_columns();
    assembly.write_values();
  }
};

}  // namespace featherweight::FW_ISA
