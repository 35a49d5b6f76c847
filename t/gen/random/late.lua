-- Random kernels that store each tile a turn late, through weir.previous_tile and weir.last_tile: GEMMs whose sums are kept in registers, and
-- maps. Their other choices are those of their kinds. See t/gen/kernels.lua.
return function(d, name)
  return require("gen.random." .. d.one { "gemm", "map" })(d, name, { late = true })
end
