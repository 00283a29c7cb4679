/** The gateways whose files can be read. */
import { agentgateway } from './agentgateway.ts'
import { bifrost } from './bifrost.ts'
import { litellm } from './litellm.ts'
import { openrouter } from './openrouter.ts'
import type { OtherGateway } from './other-gateway.ts'
import { portkey } from './portkey.ts'
import { tensorzero } from './tensorzero.ts'

export const OTHER_GATEWAYS: readonly OtherGateway[] = [litellm, bifrost, tensorzero, agentgateway, portkey, openrouter]
