# Turns kernels/lab/measured/<gpu>-bank-patterns-<date>.txt into the table that sim/analysis/bank_counters.h declares. Run at build time.
#   awk -f bank_counters.awk kernels/lab/measured/*-bank-patterns-*.txt > bank_counters.cpp
# A line is the id of a pattern, "swizzled" or nothing, and the counters of many accesses, each as a name and a number. Line 1 says how many.

function fail(text) {
  print FILENAME ":" FNR ": " text > "/dev/stderr"
  failed = 1
  exit 1
}

BEGIN {
  print "// Generated at build time from kernels/lab/measured/*-bank-patterns-*.txt."
  print "#include \"sim/analysis/bank_counters.h\""
  print "\nnamespace tilescope {\n"
  print "std::span<const BankCounters> bank_counters() {"
  print "  static constexpr BankCounters rows[] = {"
}

FNR == 1 {
  file = FILENAME
  sub(/.*\//, "", file)
  gpu = toupper(substr(file, 1, index(file, "-") - 1))
  if (!match(file, /[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]/)) fail("the name of the file has no date")
  date = substr(file, RSTART, RLENGTH)
  if (!match($0, /counters of [0-9]+ accesses/)) fail("line 1 says no \"counters of N accesses\"")
  split(substr($0, RSTART, RLENGTH), words, " ")
  accesses = words[3]
  next
}

NF > 0 {
  swizzled = $2 == "swizzled"
  split("", value)
  for (i = swizzled ? 3 : 2; i < NF; i += 2) value[$i] = $(i + 1)
  conflicts = "bank_conflicts.sum"
  loads = "pipe_lsu_wavefronts_mem_shared_op_ld.sum"
  stores = "pipe_lsu_wavefronts_mem_shared_op_st.sum"
  sectors = "t_sectors_mem_global_op_ld.sum"
  if (!(conflicts in value) || !(loads in value) || !(stores in value) || !(sectors in value)) fail("a counter is missing")
  print "      {\"" $1 "\", " (swizzled ? "true" : "false") ", \"" gpu "\", \"" date "\", " accesses ", " \
        value[loads] + value[stores] ", " value[conflicts] ", " value[sectors] "},"
}

END {
  if (failed) exit 1
  print "  };\n  return rows;\n}\n\n}  // namespace tilescope"
}
