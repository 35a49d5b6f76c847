std = "lua54"
max_line_length = false
exclude_files = { "t/rules" } -- two scripts in one file each; t/rules.t compiles both
