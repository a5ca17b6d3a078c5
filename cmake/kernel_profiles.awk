# Turns kernels/<id>/profile.toml into a C++ table: the rows that sim/programs/kernel_profile.h declares. Run at build time.
#   awk -f kernel_profiles.awk kernels/*/profile.toml > kernel_profiles.cpp
# Reads what kernels/lab/kernel_profile.py writes: tables in [[ ]], one "key = value" a line. Rows of [[counted]] and [[overhead]] that
# are of the same launch, operation and head dimension are one row: what a script counted, and what was read by hand. So are rows of
# [[reading]] of the same launch, type and head dimension.

function fail(text) {
  print FILENAME ":" FNR ": " text > "/dev/stderr"
  failed = 1
  exit 1
}

# The fields of each row, in the order of the struct.
BEGIN {
  row_type["build"] = "KernelBuild"
  fields["build"] = "launch dtype head_dim causal threads registers setmaxnreg_dec setmaxnreg_inc static_shared_bytes local_bytes spill_store_bytes spill_load_bytes instructions stall_cycles setup_instructions setup_divisions"
  row_type["reading"] = "LaunchReading"
  fields["reading"] = "launch dtype head_dim dependent_share setup_instructions setup_round_trips multiply_add_instructions"
  row_type["overhead"] = "OverheadReading"
  # What follows "what" is one member of the row.
  fields["overhead"] = "launch at head_dim times what instructions shared_round_trips barriers alu exps wavefronts stall_cycles"
  tables = split("build reading overhead", table_names, " ")
  for (t = 1; t <= tables; ++t) {
    count = split(fields[table_names[t]], names, " ")
    for (i = 1; i <= count; ++i) known[table_names[t], names[i]] = 1
    if (table_names[t] == "overhead") for (i = 1; i <= count; ++i) known["counted", names[i]] = 1
  }
  # Kept in the file for people, and for kernel_profile.py.
  for_people = " by_pipe code source "
  print "// Generated at build time from kernels/*/profile.toml."
  print "#include \"sim/programs/kernel_profile.h\""
  print "\nnamespace tilescope {\n\nnamespace {\n"
}

# Returns the text of a row. `of` has its values, by `prefix` and field.
function row_text(table, of, prefix,   text, inner, count, names, i, nested) {
  text = inner = ""
  count = split(fields[table], names, " ")
  for (i = 1; i <= count; ++i) {
    if (names[i] == "what") { inner = text; text = ""; nested = 1 }
    if ((prefix, names[i]) in of) text = text (text == "" ? "" : ", ") "." names[i] " = " of[prefix, names[i]]
  }
  if (nested) text = inner ", .what = {" text "}"
  return "    {" text "},\n"
}

# Returns the value of a field of the row, "all" where the row is of all.
function value_of(name) {
  return name in value ? value[name] : "all"
}

# Adds the values of a row to those of the row of table `into` that is of the same launch, operation, type and head dimension. A number
# that two give is an error, which names the row by its `field`.
function merge(into, field,   key, name) {
  key = into SUBSEP value["launch"] SUBSEP value_of("at") SUBSEP value_of("dtype") SUBSEP value_of("head_dim")
  if (!(key in place)) place[key] = into SUBSEP (++places[into])
  for (name in value) {
    if ((place[key], name) in merged && name !~ /^(launch|at|dtype|head_dim)$/)
      fail(name " of " value[field] " is given twice")
    merged[place[key], name] = value[name]
  }
}

function end_row(   name) {
  if (table == "") return
  if (table == "counted" || table == "overhead") {
    merge("overhead", "at")
  } else if (table == "reading") {
    merge("reading", "launch")
  } else {
    for (name in value) own["row", name] = value[name]
    rows[table] = rows[table] row_text(table, own, "row")
  }
  split("", value)
  split("", own)
  table = ""
}

function end_file(   t, name) {
  end_row()
  if (id == "") return
  for (name in places)
    for (t = 1; t <= places[name]; ++t) rows[name] = rows[name] row_text(name, merged, name SUBSEP t)
  split("", merged)
  split("", place)
  split("", places)
  for (t = 1; t <= tables; ++t) {
    name = table_names[t]
    size = rows[name] == "" ? 0 : gsub(/\n/, "\n", rows[name])
    print "constexpr std::array<" row_type[name] ", " size "> " id "_" name " = {" \
          (rows[name] == "" ? "" : "{\n" rows[name] "}") "};"
    rows[name] = ""
  }
  print ""
  profiles = profiles "    {\"" id "\", " id "_build, " id "_reading, " id "_overhead},\n"
}

FNR == 1 {
  end_file()
  parts = split(FILENAME, path, "/")
  id = path[parts - 1]
}
/^[ \t]*(#|$)/ { next }
/^\[\[[a-z]+\]\]$/ {
  end_row()
  table = substr($0, 3, length($0) - 4)
  if (!(table in fields) && table != "counted") fail("there is no table " table)
  next
}
/^[a-z_]+ = / {
  if (table == "") next  # what the whole file says of itself
  text = $0
  sub(/^[a-z_]+ = /, "", text)
  if ((table, $1) in known)
    value[$1] = $1 == "dtype" ? "DataType::" substr(text, 2, length(text) - 2) : text
  else if (index(for_people, " " $1 " ") == 0)
    fail("a row of " table " has no field " $1)
  next
}
{ fail("this line is neither a table nor a key with a value: " $0) }
END {
  if (failed) exit 1
  end_file()
  if (profiles == "") { print "kernel_profiles.awk: no profile was given" > "/dev/stderr"; exit 1 }
  print "constexpr KernelProfile profiles[] = {\n" profiles "};\n\n}  // namespace\n"
  print "std::span<const KernelProfile> kernel_profiles() {\n  return profiles;\n}\n\n}  // namespace tilescope"
}
