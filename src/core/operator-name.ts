/** Identity and name of the control room's own key; no key of the configuration can have this name. */
export const OPERATOR_NAME = 'control room'
