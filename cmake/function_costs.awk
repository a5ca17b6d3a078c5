# Turns what was counted and timed of the functions of expressions into the tables that sim/masks/function_costs.h declares. Run at
# build time.
#   awk -f function_costs.awk kernels/lab/measured/h100-flex-functions-DATE.txt kernels/lab/measured/h100-call-latency-DATE.txt
# The first file has a line "function fp32 alu special others" for each function. The second has, below "# sines", a line for each
# number of sines: the number, and the cycles with 1, 2, 3 and 4 warps on a scheduler.

BEGIN {
  print "// Generated at build time from kernels/lab/measured/."
  print "#include \"sim/masks/function_costs.h\""
  print "\nnamespace tilescope {\n"
}

FNR == 1 { ++file; sines = 0 }
file == 1 && $1 !~ /^(#|function)/ && NF == 5 && $2 ~ /^[0-9.]+$/ {
  functions = functions "      {\"" $1 "\", {" $2 ", " $3 ", " $4 "}},\n"
  fp32[$1] = $2
}
file == 2 && /^#/ { sines = $0 ~ /^# sines$/ }
file == 2 && !/^#/ && sines && $1 > 0 { calls = calls sprintf("      {%d, %.1f},\n", $1, $2) }

END {
  if (functions == "" || calls == "" || !("tanh" in fp32) || !("softcap" in fp32)) {
    print "function_costs.awk: a table is missing" > "/dev/stderr"
    exit 1
  }
  print "std::span<const FunctionCost> function_costs() {\n  static constexpr FunctionCost rows[] = {\n" functions "  };\n  return rows;\n}\n"
  print "std::span<const SineCall> sine_calls() {\n  static constexpr SineCall rows[] = {\n" calls "  };\n  return rows;\n}\n"
  printf "double softcap_saving() {\n  return %.2f;\n}\n", fp32["tanh"] - fp32["softcap"]
  print "\n}  // namespace tilescope"
}
