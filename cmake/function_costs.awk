# Turns what was counted of the functions of expressions into the table that sim/masks/function_costs.h declares. Run at build time.
#   awk -f function_costs.awk kernels/lab/measured/h100-flex-functions-DATE.txt
# The file has a line "function fp32 alu special others" for each function.

BEGIN {
  print "// Generated at build time from kernels/lab/measured/."
  print "#include \"sim/masks/function_costs.h\""
  print "\nnamespace tilescope {\n"
}

$1 !~ /^(#|function)/ && NF == 5 && $2 ~ /^[0-9.]+$/ {
  functions = functions "      {\"" $1 "\", {" $2 ", " $3 ", " $4 "}},\n"
  fp32[$1] = $2
}

END {
  if (functions == "" || !("tanh" in fp32) || !("softcap" in fp32)) {
    print "function_costs.awk: a table is missing" > "/dev/stderr"
    exit 1
  }
  print "std::span<const FunctionCost> function_costs() {\n  static constexpr FunctionCost rows[] = {\n" functions "  };\n  return rows;\n}\n"
  printf "double softcap_saving() {\n  return %.2f;\n}\n", fp32["tanh"] - fp32["softcap"]
  print "\n}  // namespace tilescope"
}
