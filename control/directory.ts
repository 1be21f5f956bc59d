import { isIP } from 'node:net'
import type { Clock } from '../media/base/clock.js'
import { newId } from '../media/base/ids.js'
import type { Log } from '../media/base/log.js'
import type { Admission, Directory, InboundInvite } from '../signalling/ports.js'
import type { ProviderSettings } from '../workers/protocol.js'
import { readConfig } from './agents/config.js'
import { resolveVariables } from './agents/placeholders.js'
import { buildSpec } from './agents/spec.js'
import { asPurpose, findAgent, findVersion } from './agents/store.js'
import { releaseSlot, takeSlot } from './calls/pool.js'
import { recordingPath, storeCallEvent } from './calls/settle.js'
import { insertCall } from './calls/store.js'
import { isEnforced } from './compliance/facts.js'
import { e164OfDialled } from './compliance/numbering.js'
import type { AgentRow, AgentVersionRow, NumberRow } from './db/calling-tables.js'
import type { Db } from './db/open.js'
import { findHeldNumber } from './numbers/store.js'

export interface DirectoryOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly nodeId: string
  readonly folder: string
  readonly providers: ProviderSettings
}

/** What a caller may send as its number when it is no number: kept readable, bounded, storable. */
const CALLER_MAX = 64

/**
 * The only place that admits inbound calls: whose number it is, who answers it, whether there is
 * room. An admitted call has its row and its `call.initiated` event.
 */
export function openDirectory(options: DirectoryOptions): Directory {
  return { admit: (invite) => admit(options, invite) }
}

async function admit(options: DirectoryOptions, invite: InboundInvite): Promise<Admission> {
  const { db, clock, log, nodeId } = options
  const dialled = e164OfDialled(invite.to)
  const number = dialled === null ? null : await findHeldNumber(db, dialled)
  if (number === null) return no(404, 'no such number')
  if (!mayReach(number, invite)) return no(403, 'not reachable from this address')
  if (number.status !== 'active' || number.inbound !== 'ready' || number.routingMode !== 'svc_agent') {
    return no(404, 'the number takes no calls')
  }
  if (await isEnforced(db, number.organizationId)) return no(403, 'calling is switched off')
  const answerer = await whoAnswers(db, number)
  if (answerer === null) return no(404, 'no published agent answers the number')
  const { agent, version } = answerer

  const from = callerOf(invite.from)
  const config = readConfig(version.config)
  const { values, missing } = resolveVariables(config, {})
  // The caller knows nothing of variables: the agent speaks without those values.
  if (missing.length > 0) log.warn({ agentId: agent.id, missing }, 'inbound call without required variables')
  const spec = buildSpec(
    {
      agentId: agent.id,
      agentVersionId: version.id,
      name: agent.name,
      config,
      direction: 'inbound',
      from,
      to: number.e164,
      variables: values,
      now: clock.wall(),
    },
    options.providers,
  )
  if (spec === null) return no(503, 'a voice or model of the agent is not available')

  const now = clock.wall()
  const callId = newId('call', now)
  const full = await takeSlot(db, number, { callId, nodeId }, now)
  try {
    await db.transaction().execute(async (trx) => {
      await insertCall(
        trx,
        {
          id: callId,
          organizationId: number.organizationId,
          environment: number.environment,
          direction: 'inbound',
          fromNumber: from,
          toNumber: number.e164,
          numberId: number.id,
          agentId: agent.id,
          agentVersion: version.version,
          agentVersionId: version.id,
          purpose: asPurpose(version.purpose),
          nodeId,
          variables: {},
          metadata: {},
          complianceRunId: null,
          evidenceId: null,
          idempotencyId: null,
        },
        now,
      )
      if (full !== null) {
        const ending = {
          by: 'engine',
          cause: 'pool_full',
          fault: 'customer',
          note: 'no free agent slot',
        } as const
        await storeCallEvent(
          trx,
          { callId, seq: 0, at: now, type: 'ended', ending, rtp: null, recording: null },
          options.folder,
        )
      }
    })
  } catch (error) {
    if (full === null) await releaseSlot(db, callId)
    throw error
  }
  if (full !== null) return { admit: false, sip: 486, reason: 'no free agent slot', cause: 'pool_full' }
  return {
    admit: true,
    callId,
    agent: spec,
    codecs: ['PCMA', 'PCMU'],
    recordTo: number.recordCalls === 1 ? recordingPath(options.folder, callId) : null,
  }
}

/**
 * Numbers of the test environment belong to the sandbox: callers on this machine reach them without
 * credentials, nobody else does. Live numbers are reached through a carrier or a trunk, of which
 * this release has none.
 */
function mayReach(number: NumberRow, { sourceAddress }: InboundInvite): boolean {
  return number.environment === 'test' && isLoopback(sourceAddress)
}

export function isLoopback(address: string): boolean {
  const plain = address.replace(/^\[|\]$/g, '').replace(/^::ffff:/i, '')
  return isIP(plain) === 4 ? plain.startsWith('127.') : plain === '::1'
}

async function whoAnswers(
  db: Db,
  number: NumberRow,
): Promise<{ agent: AgentRow; version: AgentVersionRow } | null> {
  if (number.agentId === null) return null
  const agent = await findAgent(db, number.organizationId, number.agentId)
  if (agent === null || agent.publishedVersion === null) return null
  const version = await findVersion(db, number.organizationId, agent.id, agent.publishedVersion)
  return version === null ? null : { agent, version }
}

/** The caller's number as E.164 where it is one, else what was sent, fit to be stored. */
function callerOf(from: string): string {
  const number = e164OfDialled(from)
  if (number !== null) return number
  const text = from.replace(/[\p{C}\p{Surrogate}]/gu, '').slice(0, CALLER_MAX)
  return text === '' ? 'anonymous' : text
}

function no(sip: 403 | 404 | 503, reason: string): Admission {
  return { admit: false, sip, reason }
}
