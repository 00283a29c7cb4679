/**
 * False with `HEADGATE_MACHINES=off` in the environment: then a library does what a machine stands in for, wherever there is one. Replies and
 * records are the same, only dearer; so it shows whether a machine is at fault, and the tests run that way as well.
 */
export const MACHINES_ON: boolean = process.env.HEADGATE_MACHINES !== 'off'
