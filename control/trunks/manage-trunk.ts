import { newId } from '../../media/base/ids.js'
import { SERVICE_REALM } from '../../signalling/trunk/trunk-authenticator.js'
import type { Actor } from '../api/actor.js'
import type { AuditFields } from '../api/audit.js'
import { type AuditedInput, audited } from '../api/audited.js'
import type { Deps } from '../api/deps.js'
import { isRefusal, type Refusal, refuse } from '../api/problem.js'
import type { Trx } from '../db/database.js'
import type { SipTrunkRow } from '../db/tables/trunks.js'
import { countNumbers } from '../numbers/store.js'
import { readEntitlement } from './access-store.js'
import { refuseOverlap } from './claims.js'
import { NO_CONTACTS } from './contacts.js'
import { newDigestPassword, newDigestUsername } from './digest-credentials.js'
import { hostProblem } from './outbound-host.js'
import { findMadeTrunk, insertTrunk, lockTrunk, updateTrunk } from './store.js'
import { sealPassword, unsealPassword } from './trunk-passwords.js'
import { codecsOf, headersOf } from './trunk-route.js'
import { applySettings, DEFAULTS, type NewTrunk, type TrunkPatch } from './trunk-settings.js'

/*
 * Changes of trunks by their organization. Calls read a trunk when they begin, so that each change counts from the
 * next call on and calls in progress continue.
 */

export interface TrunkInput extends AuditedInput {
  readonly actor: Actor
  readonly deps: Deps
}

/** A trunk with its password in clear, to be shown once. */
export interface NewCredentials {
  readonly trunk: SipTrunkRow
  readonly password: string
}

export const noTrunk = () => refuse('not_found', 'The SIP trunk does not exist.')

/** Makes a trunk with new credentials. A retry of the same idempotent request returns the same trunk and password. */
export async function createTrunk(
  input: TrunkInput & { readonly idempotencyId: string | null },
  body: NewTrunk,
): Promise<NewCredentials | Refusal> {
  const { actor, deps, idempotencyId } = input
  const { organizationId, environment } = actor
  const { rootKey, settings, egress } = deps
  const entitlement = await readEntitlement(deps.db, organizationId)
  if (!entitlement.enabled || !entitlement.organizationVerified) {
    return refuse(
      'sip_trunking_not_enabled',
      entitlement.organizationVerified
        ? 'The organization may not create SIP trunks yet. Ask for access with POST /v1/sip-trunks/access-request.'
        : 'The organization must be verified before it can create SIP trunks.',
    )
  }
  const checked = applySettings(DEFAULTS, body, settings.allowPrivateUrls)
  if (isRefusal(checked)) return checked
  const unusable = await refuseHost(egress, organizationId, body.outboundHost ?? null)
  if (unusable !== null) return unusable
  const { columns, ranges } = checked
  const password = newDigestPassword()
  return audited(input, async (trx, record, now) => {
    const made = idempotencyId === null ? null : await findMadeTrunk(trx, actor, idempotencyId)
    if (made !== null) return credentialsOf(made)
    const overlap = await refuseOverlap(trx, actor, checked.ranges)
    if (overlap !== null) return overlap
    const id = newId('trk', now)
    const { outboundPassword = null } = body
    const row = await insertTrunk(
      trx,
      {
        ...columns,
        id,
        organizationId,
        environment,
        name: body.name,
        status: 'pending_verification',
        disabledReason: null,
        approvedAt: null,
        allowOrigination: 0,
        callerId: null,
        srtp: 'optional',
        digestUsername: newDigestUsername(),
        digestPassword: sealPassword(rootKey, id, 'inbound', password),
        digestAlgorithm: 'MD5',
        realm: SERVICE_REALM,
        ipAcl: JSON.stringify(ranges.map(({ text }) => text)),
        lastInboundAt: null,
        lastOutboundAt: null,
        lastProbe: null,
        callsPerMinute: CALLS_PER_MINUTE,
        allowedPrefixes: JSON.stringify(['+91']),
        outboundPassword:
          outboundPassword === null ? null : sealPassword(rootKey, id, 'outbound', outboundPassword),
        outboundDomain: null,
        ringTimeoutMs: RING_TIMEOUT_MS,
        registerSeconds: REGISTER_SECONDS,
        carrier: null,
        source: 'api',
        numberId: null,
        idempotencyId,
        createdAt: now,
        updatedAt: now,
        deletedAt: null,
      },
      ranges,
    )
    if (row === null) return refuse('internal_error', 'The credentials could not be made. Retry the request.')
    await record('sip_trunk.created', id, { after: auditFields(row) })
    return { trunk: row, password }
  })

  function credentialsOf(trunk: SipTrunkRow): NewCredentials {
    return { trunk, password: unsealPassword(rootKey, trunk.id, 'inbound', trunk.digestPassword ?? '') }
  }
}

const CALLS_PER_MINUTE = 60
const RING_TIMEOUT_MS = 45_000
const REGISTER_SECONDS = 600

/** Changes the settings of a trunk. */
export async function changeTrunk(
  input: TrunkInput,
  id: string,
  patch: TrunkPatch,
): Promise<SipTrunkRow | Refusal> {
  const { actor, deps } = input
  const unusable = await refuseHost(deps.egress, actor.organizationId, patch.outboundHost ?? null)
  if (unusable !== null) return unusable
  return audited(input, async (trx, record, now) => {
    const before = await lockOwnTrunk(trx, input, id, now)
    if (isRefusal(before)) return before
    const checked = applySettings(before, patch, deps.settings.allowPrivateUrls)
    if (isRefusal(checked)) return checked
    const { columns, ranges } = checked
    const overlap = await refuseOverlap(trx, actor, patch.ipAcl === undefined ? [] : ranges)
    if (overlap !== null) return overlap
    const { name = before.name, outboundPassword: password } = patch
    const sealed = password ? sealPassword(deps.rootKey, id, 'outbound', password) : password
    const change = {
      ...columns,
      name,
      ...(sealed === undefined ? {} : { outboundPassword: sealed }),
    }
    const row = await updateTrunk(trx, actor, id, change, patch.ipAcl === undefined ? null : ranges)
    if (row === null) return noTrunk()
    await record('sip_trunk.updated', id, {
      before: auditFields(before),
      after: { ...auditFields(row), ...(password === undefined ? {} : { outboundPasswordChanged: true }) },
    })
    return row
  })
}

/** Gives a trunk a new password. The old one is refused from the next request on, and what is registered ends. */
export function rotateCredentials(input: TrunkInput, id: string): Promise<NewCredentials | Refusal> {
  const { actor, deps } = input
  const password = newDigestPassword()
  return audited(input, async (trx, record, now) => {
    const before = await lockOwnTrunk(trx, input, id, now)
    if (isRefusal(before)) return before
    // Registrations with the old password must receive no more calls.
    const change = {
      digestPassword: sealPassword(deps.rootKey, id, 'inbound', password),
      contacts: NO_CONTACTS,
    }
    const trunk = await updateTrunk(trx, actor, id, change, null)
    if (trunk === null) return noTrunk()
    await record('sip_trunk.credentials_rotated', id)
    return { trunk, password }
  })
}

/** Deletes a trunk without numbers. */
export function deleteTrunk(input: TrunkInput, id: string): Promise<Refusal | null> {
  return audited(input, async (trx, record, now) => {
    const before = await lockOwnTrunk(trx, input, id, now)
    if (isRefusal(before)) return before
    const count = await countNumbers(trx, input.actor, id)
    if (count > 0) {
      return refuse('sip_trunk_has_numbers', 'Remove the numbers of the trunk first.', { count })
    }
    await updateTrunk(trx, input.actor, id, { deletedAt: now, register: 0 }, [])
    await record('sip_trunk.deleted', id, { before: auditFields(before) })
    return null
  })
}

/** Locks a trunk that its organization may change. */
export async function lockOwnTrunk(
  trx: Trx,
  { actor }: TrunkInput,
  id: string,
  now: number,
): Promise<SipTrunkRow | Refusal<'not_found' | 'conflict'>> {
  const row = await lockTrunk(trx, actor, id, now)
  if (row === null || row.source === 'number') return noTrunk()
  if (row.source === 'api') return row
  return refuse('conflict', 'The operator of the service manages this trunk in the trunk file.', {
    source: row.source,
  })
}

async function refuseHost(
  egress: Deps['egress'],
  organizationId: string,
  host: string | null,
): Promise<Refusal<'validation_error'> | null> {
  const reason = host === null ? null : await hostProblem(egress, organizationId, host)
  if (reason === null) return null
  return refuse('validation_error', `outboundHost ${reason}.`, { issues: [{ path: 'outboundHost', reason }] })
}

/** Settings for the audit log, without secrets. */
export function auditFields(row: SipTrunkRow): AuditFields {
  return {
    name: row.name,
    status: row.status,
    inboundAuth: row.inboundAuth,
    ipAcl: row.ipAcl,
    ipAclPending: row.ipAclPending,
    callerIdPolicy: row.callerIdPolicy,
    codecs: codecsOf(row).join(),
    maxConcurrent: row.maxConcurrent,
    outboundHost: row.outboundHost,
    outboundPort: row.outboundPort,
    outboundTransport: row.outboundTransport,
    outboundNumberFormat: row.outboundNumberFormat,
    outboundAuthUsername: row.outboundAuthUsername,
    register: row.register,
    customHeaders: Object.keys(headersOf(row)).sort().join(),
    allowOrigination: row.allowOrigination,
    originationBudgetPaise: row.originationBudgetPaise,
  }
}
