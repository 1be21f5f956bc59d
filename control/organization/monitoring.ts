import type { SessionActor } from '../api/actor.js'
import { type Refusal, refuse } from '../api/problem.js'
import { ADMIN_ROLES } from '../api/scopes.js'
import type { Db, Trx } from '../db/database.js'
import type { Role } from '../db/tables/identity.js'
import type { OrganizationProfileRow } from '../db/tables/organization.js'

/** Rights of members over live calls of an environment, least first. */
export const MONITORING = ['off', 'listen', 'listen_and_takeover'] as const
export type Monitoring = (typeof MONITORING)[number]

const DEFAULTS = { test: 'listen_and_takeover', live: 'off' } as const

export interface MonitoringRules {
  readonly test: Monitoring
  readonly live: Monitoring
  /** Developers may do it too, not only owners and admins. */
  readonly developers: boolean
}

type Columns = {
  readonly [C in 'monitoringTest' | 'monitoringLive' | 'developersMonitor']: OrganizationProfileRow[C] | null
}

export function monitoringOf(profile: Columns | undefined): MonitoringRules {
  return {
    test: known(profile?.monitoringTest) ?? DEFAULTS.test,
    live: known(profile?.monitoringLive) ?? DEFAULTS.live,
    developers: profile?.developersMonitor === 1,
  }
}

function known(stored: string | null | undefined): Monitoring | undefined {
  return MONITORING.find((value) => value === stored)
}

export async function readMonitoring(db: Db | Trx, organizationId: string): Promise<MonitoringRules> {
  const profile = await db
    .selectFrom('organizationProfiles')
    .select(['monitoringTest', 'monitoringLive', 'developersMonitor'])
    .where('organizationId', '=', organizationId)
    .executeTakeFirst()
  return monitoringOf(profile)
}

/** Returns whether a role may do this with live calls of an environment. */
export function mayMonitor(
  rules: MonitoringRules,
  { role, environment }: { readonly role: Role; readonly environment: 'test' | 'live' },
  wanted: Exclude<Monitoring, 'off'>,
): boolean {
  const entitled = ADMIN_ROLES.includes(role) || (role === 'developer' && rules.developers)
  return entitled && MONITORING.indexOf(rules[environment]) >= MONITORING.indexOf(wanted)
}

/** Refuses when the organization or the role does not allow it. Returns null when they do. */
export async function refuseMonitoring(
  db: Db,
  actor: SessionActor,
  wanted: Exclude<Monitoring, 'off'>,
): Promise<Refusal<'forbidden'> | null> {
  const rules = await readMonitoring(db, actor.organizationId)
  if (mayMonitor(rules, actor, wanted)) return null
  const set = rules[actor.environment]
  return MONITORING.indexOf(set) < MONITORING.indexOf(wanted)
    ? refuse('forbidden', `The organization does not allow this: monitoring.${actor.environment} is ${set}.`)
    : refuse('forbidden', `The role "${actor.role}" may not monitor calls. Ask an owner or admin.`)
}
