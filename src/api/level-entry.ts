/** Organizations, workspaces and members as they are shown. */
import type { JsonObject } from '../core/json.ts'
import type { Level, LevelLimit, LevelTree, LevelWindow } from '../core/levels.ts'
import { usd } from '../core/money.ts'
import { BUDGET_WINDOWS } from '../core/shared-budget.ts'
import { workspaceGuardrail } from './guardrail-entry.ts'

export function levelEntry(level: Level, tree: LevelTree): JsonObject {
  return level.kind === 'member' ? memberEntry(level, tree) : level.kind === 'workspace' ? workspaceEntry(level) : organizationEntry(level)
}

function organizationEntry(level: Level): JsonObject {
  const { id, fields } = level
  return {
    id,
    name: fields.name,
    slug: fields.slug ?? '',
    description: fields.description ?? null,
    include_byok_in_budgets: fields.includeByok ?? false,
    ...sharedFields(level),
  }
}

/** Clients require the fields about logging and images, which nothing here sets. */
function workspaceEntry(level: Level): JsonObject {
  const { fields, parent } = level
  return {
    ...organizationEntry(level),
    organization_id: parent,
    default_guardrail_id: workspaceGuardrail(level.id),
    default_text_model: fields.defaultTextModel ?? null,
    default_provider_sort: fields.defaultProviderSort ?? null,
    default_image_model: null,
    is_observability_io_logging_enabled: false,
    is_observability_broadcast_enabled: false,
    is_data_discount_logging_enabled: false,
    io_logging_sampling_rate: 1,
    io_logging_api_key_ids: null,
  }
}

function sharedFields({ createdAt, updatedAt, fields: { disabled, rates, createdBy } }: Level): JsonObject {
  return {
    disabled,
    rate_limits: { requests: rates.requests ?? null, tokens: rates.tokens ?? null, streams: rates.streams ?? null },
    created_at: new Date(createdAt).toISOString(),
    updated_at: updatedAt === null ? null : new Date(updatedAt).toISOString(),
    created_by: createdBy,
  }
}

function memberEntry(level: Level, tree: LevelTree): JsonObject {
  const { id, parent, fields } = level
  const workspace = tree.get('workspace', parent ?? '')
  return {
    id,
    user_id: fields.userId ?? '',
    name: fields.name,
    role: fields.role ?? 'member',
    is_service_account: fields.isServiceAccount ?? false,
    description: fields.description ?? null,
    workspace_id: workspace?.id ?? null,
    organization_id: workspace ? workspace.parent : parent,
    include_byok_in_budgets: fields.includeByok ?? false,
    ...sharedFields(level),
  }
}

/** A person or service account of an organization, once, however many of its workspaces it is in. */
export function personEntry({ fields: { userId = '', name, role } }: Level): JsonObject {
  return {
    id: userId,
    email: userId.includes('@') ? userId : '',
    // One name is kept, not its parts.
    first_name: name === userId ? null : name,
    last_name: null,
    // Clients know these two.
    role: role === 'admin' || role === 'owner' ? 'org:admin' : 'org:member',
  }
}

/** Limits of a level, the longest window last. */
export function budgetEntries(level: Level): JsonObject[] {
  return BUDGET_WINDOWS.flatMap((window) => {
    const limit = level.fields.limits[window]
    return limit ? [budgetEntry(level, window, limit)] : []
  })
}

export function budgetEntry({ id: level, kind }: Pick<Level, 'id' | 'kind'>, window: LevelWindow, limit: LevelLimit): JsonObject {
  return {
    id: limit.id,
    [`${kind}_id`]: level,
    limit_usd: usd(limit.limit),
    reset_interval: window === 'lifetime' ? null : window,
    created_at: new Date(limit.createdAt).toISOString(),
    updated_at: new Date(limit.updatedAt).toISOString(),
  }
}
