#include <algorithm>

#include "src/plan/verify_parts.hpp"
#include "zero/graph/operation.hpp"

namespace zero::plan {
namespace {

/// True if a form may have fewer rows of a tensor: inputs from data, activations, outputs and
/// constants.
bool may_be_shorter(const graph::Graph& graph, graph::TensorId tensor) {
  using graph::Role;
  const Role role = graph[tensor].role;
  if (role == Role::activation || role == Role::constant || role == Role::output) return true;
  for (const graph::Input& input : graph.inputs) {
    if (input.tensor == tensor) return input.filled_by == graph::FilledBy::data;
  }
  return false;
}

graph::TensorId tensor_of(const graph::Op& op, size_t operand) {
  const size_t inputs = op.inputs.size();
  return operand < inputs ? op.inputs[operand] : op.outputs[operand - inputs];
}

bool same_work(const graph::Op& a, const graph::Op& b) {
  return a.kind == b.kind && a.inputs == b.inputs && a.outputs == b.outputs && a.unit == b.unit &&
         a.backward == b.backward && a.repeated == b.repeated;
}

bool same_storage(const graph::Tensor& a, const graph::Tensor& b) {
  return a.dtype == b.dtype && a.role == b.role && a.parameter == b.parameter;
}

bool same_parameter(const graph::Parameter& a, const graph::Parameter& b) {
  return a.tensor == b.tensor && a.unit == b.unit && a.gradient == b.gradient &&
         a.frozen == b.frozen && a.real_numel == b.real_numel;
}

/// True if a form's constant is the front of the longest form's, which lies in memory.
bool is_front(const graph::Constant& form, const graph::Constant& longest) {
  return form.tensor == longest.tensor && form.values->size() <= longest.values->size() &&
         std::equal(form.values->begin(), form.values->end(), longest.values->begin());
}

template <class List, class Same>
bool all_same(const List& a, const List& b, const Same& same) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

class FormCheck {
 public:
  FormCheck(const Plan& plan, int32_t graph, size_t form, Findings& findings)
      : plan_(plan),
        longest_(plan.graphs[size_t(graph)]),
        form_(plan.form(graph, form)),
        graph_(graph),
        number_(form),
        findings_(findings) {}

  void run() {
    if (!has_same_ops() || !has_same_tensors()) return;
    for (const Body& body : plan_.bodies) {
      if (body.graph == graph_) check_reach(body);
    }
  }

 private:
  template <class... Parts>
  bool differs(const Parts&... parts) {
    findings_.add("form ", number_, " of graph ", graph_, ": ", parts...);
    return false;
  }

  bool has_same_ops() {
    if (form_.ops.size() != longest_.ops.size()) {
      return differs(form_.ops.size(), " ops, the longest form has ", longest_.ops.size());
    }
    for (size_t i = 0; i < form_.ops.size(); ++i) {
      if (same_work(form_.ops[i], longest_.ops[i])) continue;
      return differs("op ", i, ", ", form_.ops[i].kind->name, ", is not that of the longest form, ",
                     longest_.ops[i].kind->name);
    }
    return true;
  }

  /// True if tensors, parameters and samples are equal, so collectives send the same.
  bool has_same_tensors() {
    const bool same = all_same(form_.tensors, longest_.tensors, same_storage) &&
                      all_same(form_.parameters, longest_.parameters, same_parameter) &&
                      form_.samples == longest_.samples;
    if (!same) return differs("other tensors, parameters or samples than the longest form");
    if (!all_same(form_.constants, longest_.constants, is_front))
      return differs("a constant is not the front of the longest form's");
    for (size_t i = 0; i < form_.tensors.size(); ++i) {
      const auto tensor = graph::TensorId(i);
      if (may_be_shorter(longest_, tensor) || form_[tensor].shape == longest_[tensor].shape) {
        continue;
      }
      return differs(form_[tensor].name, " has another shape than in the longest form, and all ",
                     "that ranks send of it has");
    }
    return true;
  }

  void check_reach(const Body& body) {
    for (size_t i = 0; i < body.ops.size(); ++i) {
      const PlanOp& op = body.ops[i];
      if (op.kind != Kind::compute) continue;
      const std::vector<Operand> operands = operands_in_form(plan_, body, op, number_);
      for (size_t k = 0; k < operands.size(); ++k) {
        if (operands[k].bytes <= op.operands[k].bytes) continue;
        differs(body.name, " op ", i, ", ", form_.ops[size_t(op.graph_op)].kind->name, ", touches ",
                operands[k].bytes, " bytes where the longest form has ", op.operands[k].bytes);
      }
    }
  }

  const Plan& plan_;
  const graph::Graph &longest_, &form_;
  const int32_t graph_;
  const size_t number_;
  Findings& findings_;
};

}  // namespace

std::vector<FormPair> form_pairs(const Plan& plan, const Body& body) {
  const size_t longest = plan.forms(body.graph) - 1;
  std::vector<FormPair> pairs = {{longest, longest}};
  const bool computes =
      std::ranges::any_of(body.ops, [](const PlanOp& op) { return op.kind == Kind::compute; });
  if (!computes) return pairs;
  const bool computes_once = body.graph == 1 || plan.request.micro_batches == 1;
  for (size_t even = 0; even <= longest; ++even) {
    for (size_t odd = 0; odd <= longest; ++odd) {
      const bool known = even == longest && odd == longest;
      if (known || (computes_once && even != odd)) continue;
      pairs.push_back({even, odd});
    }
  }
  return pairs;
}

std::vector<Operand> operands_in_form(const Plan& plan, const Body& body, const PlanOp& op,
                                      size_t form) {
  std::vector<Operand> operands = op.operands;
  if (op.kind != Kind::compute || form + 1 == plan.forms(body.graph)) return operands;
  const graph::Graph& graph = plan.form(body.graph, form);
  const graph::Op& made = graph.ops[size_t(op.graph_op)];
  const size_t tensors = made.inputs.size() + made.outputs.size();
  for (size_t k = 0; k < tensors; ++k) {
    const graph::TensorId tensor = tensor_of(made, k);
    if (tensor != graph::kNone && may_be_shorter(graph, tensor)) {
      operands[k].bytes = graph[tensor].bytes();
    }
  }
  Operand& scratch = operands.back();
  if (operands.size() > tensors) {
    scratch.bytes = made.kind->scratch_bytes(graph, made, plan.request.threads);
    if (scratch.bytes == 0) scratch = {};
  }
  return operands;
}

void check_forms(const Plan& plan, Findings& findings) {
  for (int32_t graph = 0; graph < int32_t(plan.shorter.size()); ++graph) {
    for (size_t form = 0; form + 1 < plan.forms(graph); ++form) {
      FormCheck(plan, graph, form, findings).run();
    }
  }
}

}  // namespace zero::plan
