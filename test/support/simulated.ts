/** YAML of a configuration whose one model, sim/echo, is simulated: for what needs a model, whichever it is. */

/** @param more what the endpoint has beside its model, such as a price, which is free where it is left out. @param model at the simulated provider. */
export function simulated(more = '', model = 'echo'): string {
  const rest = more === '' ? '' : `, ${more}`
  return `providers: { sim: { dialect: sim } }
models: { sim/echo: { endpoints: [ { provider: sim, model: ${model}${rest} } ] } }
`
}
