/** In which container commands run (contract section 1.4). */
import { badField, type Container, isObject, type JsonObject, type Sandbox, sandboxOf, type ToolHost } from '../../plugin-api/index.ts'

/** Seconds that a container is kept after its last command: usual, most. */
const USUAL_SLEEP = 900
const MOST_SLEEP = 2_592_000

const CONTAINER_ID = /^[\w-]{1,20}$/
/** Characters of the name that a container of our own gets, behind its prefix. */
const NAME = 15

export interface Environment {
  /** Undefined for a container of the request's own. */
  readonly id: string | undefined
  /** Milliseconds. */
  readonly sleepAfter: number
}

/** @param path of the parameters. @throws Fault 400 naming the path. */
export function environmentOf(parameters: JsonObject, path: string): Environment {
  const { environment = null, sleep_after_seconds: sleep = null } = parameters
  const seconds = sleep ?? USUAL_SLEEP
  if (typeof seconds !== 'number' || !Number.isInteger(seconds) || seconds < 1 || seconds > MOST_SLEEP)
    throw badField(`${path}.sleep_after_seconds`, `expected a whole number from 1 to ${MOST_SLEEP}`)
  return { id: environment === null ? undefined : containerId(environment, `${path}.environment`), sleepAfter: seconds * 1000 }
}

function containerId(environment: unknown, path: string): string | undefined {
  if (!isObject(environment)) throw badField(path, 'expected an object with a type')
  const { type, container_id: id } = environment
  if (type === 'container_auto') return undefined
  if (type !== 'container_reference') throw badField(`${path}.type`, 'expected container_auto or container_reference')
  if (typeof id !== 'string' || !CONTAINER_ID.test(id))
    throw badField(`${path}.container_id`, 'expected up to 20 letters, digits, dashes and underscores')
  return id
}

/** The one container of a request. */
export class RequestContainer {
  private readonly environment: Environment
  private name: string | undefined

  constructor(environment: Environment) {
    this.environment = environment
    this.name = environment.id
  }

  /** Made up at the first command where the caller names none. */
  of({ key, clock }: ToolHost): Container {
    if (this.name === undefined) {
      this.name = 'cntr_'
      while (this.name.length < 'cntr_'.length + NAME) this.name += Math.floor(clock.random() * 36).toString(36)
    }
    return { key: key.identity, id: this.name, sleepAfter: this.environment.sleepAfter }
  }
}

/** @param of path of the field that needs a sandbox. @throws Fault 400 that says what is to be configured. */
export function neededSandbox(settings: JsonObject, of: string): Sandbox {
  const sandbox = sandboxOf(settings)
  if (!sandbox)
    throw badField(of, 'there is no sandbox to run commands in: the operator has to configure one under plugins.defaults.shell.sandbox')
  return sandbox
}
