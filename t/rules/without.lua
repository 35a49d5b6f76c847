-- Rules without a pair in this folder, and why.
local c_only = "Lua cannot write it: "
local first = "found earlier under another rule: "
local plans = "a plan cannot contain it; plans that were changed do: "
return {
  ["C-NEST-08"] = c_only .. "a `for` closes its block; t/c/validate_test.c",
  ["C-NAME-02"] = c_only .. "a table has a key once; t/c/validate_test.c",
  ["CF2"] = c_only .. "signaling is chosen by name; t/vectors/pipelines.lua",
  ["CF3"] = c_only .. "signaling is chosen by name; t/vectors/pipelines.lua",
  ["V-CNT-12"] = c_only .. "multicast is chosen by name; t/c/validate_test.c",
  ["CF10"] = first .. "M-PIPE; by itself in t/vectors/pipelines.lua",
  ["CN1"] = first .. "M-PIPE; by itself in t/vectors/pipelines.lua",
  ["CN2"] = first .. "M-PIPE; by itself in t/vectors/pipelines.lua",
  ["PLAN-DTYPE"] = first .. "V-ATOM-02",
  ["PLAN-VIEW"] = first .. "V-ATOM-01 or V-ATOM-03",
  ["PLAN-COUNT"] = first .. "V-CNT-09; no kernel of 32 warps in 8 CTAs counts that far",
  ["V-DMA-03"] = first .. "PLAN-TX or PLAN-ZERO, as errors; t/vectors/validation.lua has it alone",
  ["PROVE-COUNT"] = plans .. "t/perturb.t",
  ["PROVE-EXIT"] = plans .. "t/perturb.t",
  ["PROVE-PLAN"] = plans .. "t/perturb.t",
  ["PROVE-PROXY"] = plans .. "t/perturb.t",
}
