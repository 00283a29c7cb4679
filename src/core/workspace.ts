/** The one workspace that everything belongs to: clients of the hosted service expect an id. */
export const WORKSPACE = '00000000-0000-8000-8000-000000000001'
