// Counts what three launches move.
#include "sim/programs/added_gradients.h"

namespace tilescope {

ClosedForm added_gradients_form(const AttentionProblem& problem, const TileShape& tile, const KeyBlockLoads& loads) {
  const VisitSums sums = visit_sums(problem, tile);
  const std::int64_t planes = problem.query_planes(), sum_row = problem.head_dim * 4;
  const std::int64_t row = problem.head_dim * element_bytes(problem.dtype);
  const Bytes all(planes * problem.seq_q * row), gradient(problem.kv_planes() * problem.seq_kv * row);
  const Bytes every = loads.statistics.value_or(Bytes(statistic_bytes(problem, tile, Crossings::every_pair)));
  const std::string visits = formula_for(problem, "⌈Nk/Bc⌉·Nq", "Σᵢ rowsᵢ·⌈vis(i)/Bc⌉");
  ClosedForm form;
  form.terms = {
      {tensors::q, Link::l2_to_sm, loads.queries, "B·Hq·d·e·" + loads.query_rows},
      {tensors::k, Link::l2_to_sm, loads.keys, "B·Hkv·" + loads.key_rows + "·d·e"},
      {tensors::v, Link::l2_to_sm, loads.keys, "B·Hkv·" + loads.key_rows + "·d·e"},
      {tensors::o, Link::l2_to_sm, all, "B·Hq·Nq·d·e"},
      {tensors::d_o, Link::l2_to_sm, all + loads.queries, "B·Hq·d·e·(Nq + " + loads.query_rows + ")"},
      {tensors::lse, Link::l2_to_sm, every, statistic_formula(problem, tile, "B·Hq·4·" + visits)},
      {tensors::row_dot, Link::l2_to_sm, every, statistic_formula(problem, tile, "B·Hq·4·" + visits)},
      {tensors::row_dot, Link::sm_to_l2, Bytes(statistic_bytes(problem, tile, Crossings::once)),
       statistic_formula(problem, tile, "B·Hq·Nq·4")},
      {tensors::d_q_acc, Link::l2_to_sm, Bytes(planes * problem.seq_q * sum_row), "B·Hq·Nq·d·4"},
      {tensors::d_q_acc, Link::sm_to_l2, Bytes(planes * (problem.seq_q + sums.rows_pairs) * sum_row),
       "B·Hq·d·4·(Nq + " + visits + ")"},
      {tensors::d_q, Link::sm_to_l2, all, "B·Hq·Nq·d·e"},
      {tensors::d_k, Link::sm_to_l2, gradient, "B·Hkv·Nk·d·e"},
      {tensors::d_v, Link::sm_to_l2, gradient, "B·Hkv·Nk·d·e"},
  };
  form.reduced = Bytes(planes * sums.rows_pairs * sum_row);
  form.flops = planes * 10 * problem.head_dim * sums.rows_keys;
  form.exps = planes * sums.rows_keys;
  form.order = "Θ(N²d²/M)";
  return form;
}

}  // namespace tilescope
