export { type PanelFields, panelFields } from './fields.ts'
export { type Panel, panelFor } from './seats.ts'
