import { EventEmitter } from 'node:events'
import t from 'tap'
import { dataOf, openTestCalling, type TestCalling } from '../../../fixtures/api/calling.js'
import { type SignedIn, signInMember } from '../../../fixtures/api/signed-in.js'
import { onEachDialect } from '../../../fixtures/database/databases.js'
import type { WsUpgrade } from '../../../signalling/embedded/transport/ws-transport.js'
import { transferParty } from '../../transfers/transfer-party.js'
import { findCall } from '../store.js'
import { TICKET_MS } from './ticket.js'

const SOURCE = { sourceAddress: '192.0.2.5', sourcePort: 40_000 }

/** Gives a user a SIP connection, until the returned function closes it. */
function connect({ deps }: TestCalling, userId: string, port = SOURCE.sourcePort): () => void {
  const socket = new EventEmitter()
  const remote = { address: SOURCE.sourceAddress, port }
  deps.browserSip?.accept({ request: { socket }, remote } as unknown as WsUpgrade, userId)
  return () => socket.emit('close')
}

function dial({ deps }: TestCalling, ticket: string, from: Partial<typeof SOURCE> = {}) {
  return deps.admission.admit({
    ...{ sipCallId: 'abc', to: agentIn(ticket), from: 'user', transport: 'tcp', trunkId: null, ticket },
    ...{ alternateTo: [], assertedIdentity: null, isPrivate: false, ...SOURCE, ...from },
  })
}

/** The agent or the call that a ticket is for. Nothing for one that was changed. */
function agentIn(ticket: string): string {
  const text = Buffer.from(ticket, 'base64url').toString('latin1')
  return /(?:agt|call)_\w{26}/.exec(text)?.[0] ?? 'nobody'
}

const refused = (code: string) => ({ admit: false, sip: 403, headers: { 'X-Svc-Code': code } })

await onEachDialect(t, async (t, open) => {
  const calling = await openTestCalling(await open(), {
    env: { PARLEY_TURN_URLS: 'turn:turn.example.com:3478', PARLEY_TURN_SECRET: 'relay secret' },
  })
  const { api, deps, clock, owner, numberId } = calling
  const agentId = await calling.publishAgent({
    systemPrompt: 'You are {{mood}}.',
    inputVariables: [{ name: 'mood', required: true }],
  })
  const member = await signInMember(api, owner.organizationId, 'developer')
  const ask = (json: object, who: SignedIn = member) =>
    who.send('POST', '/v1/browser-calls', {
      json: { purpose: 'talk', agentId, variables: { mood: 'kind' }, ...json },
    })
  const ticketOf = async (json: object = {}) => {
    const answer = dataOf(await ask(json))
    return { callId: String(answer.callId), ticket: String(answer.ticket), answer }
  }
  const hangUp = (callId: string) =>
    calling.emitCallEvent(callId, {
      type: 'ended',
      ending: { by: 'caller', cause: 'caller_hangup', fault: 'none' },
      rtp: null,
      recording: null,
    })
  const disconnect = connect(calling, member.userId)

  await t.test('a ticket is good for one call with the published version', async (t) => {
    const { callId, ticket, answer } = await ticketOf()
    t.match(answer, {
      webSocketUrl: /^ws:\/\/127\.0\.0\.1:\d+\/v1\/browser-calls\/sip$/,
      from: `sip:${member.userId}@127.0.0.1`,
      to: `sip:${agentId}@127.0.0.1`,
      iceServers: [{ urls: ['turn:turn.example.com:3478'], username: new RegExp(`^\\d+:${member.userId}$`) }],
    })
    t.match(await calling.send('GET', `/v1/calls/${callId}`), { status: 404 }, 'nothing is stored yet')
    t.match(await dial(calling, ticket), {
      admit: true,
      callId,
      codecs: ['OPUS', 'PCMA', 'PCMU'],
      srtp: 'required',
      party: { kind: 'agent', agent: { agentId, systemPrompt: /You are kind\./ } },
    })
    t.match(dataOf(await calling.send('GET', `/v1/calls/${callId}`)), {
      direction: 'inbound',
      from: 'browser',
      to: calling.number,
      numberId,
      agentVersion: 1,
      variables: { mood: 'kind' },
      metadata: { channel: 'browser', userId: member.userId },
    })
    t.match(await dial(calling, ticket), refused('token_used'))
    const slots = await deps.db.selectFrom('callSlots').select('callId').execute()
    t.same(slots, [{ callId }], 'the second attempt neither takes nor frees a slot')
    await hangUp(callId)
    t.match(await dial(calling, ticket), refused('token_used'))
    const audit = await deps.db
      .selectFrom('auditEntries')
      .select(['subjectId', 'actorId'])
      .where('action', '=', 'agent.talk_requested')
      .execute()
    t.same(audit, [{ subjectId: agentId, actorId: member.userId }])
  })

  await t.test('of two attempts at once one begins', async (t) => {
    const { callId, ticket } = await ticketOf()
    const decisions = await Promise.all([dial(calling, ticket), dial(calling, ticket)])
    t.same(decisions.map(({ admit }) => admit).toSorted(), [false, true])
    t.equal((await deps.db.selectFrom('callSlots').select('callId').execute()).length, 1)
    await hangUp(callId)
  })

  await t.test(
    'a ticket is refused when it expired, was changed, or comes over another connection',
    async (t) => {
      const { ticket } = await ticketOf()
      const changed = `${ticket.startsWith('A') ? 'B' : 'A'}${ticket.slice(1)}`
      t.match(await dial(calling, changed), refused('invalid_token'))
      t.match(await dial(calling, ticket, { sourcePort: 40_001 }), refused('invalid_token'), 'no connection')
      const other = await signInMember(api, owner.organizationId, 'owner')
      const close = connect(calling, other.userId, 40_001)
      t.match(
        await dial(calling, ticket, { sourcePort: 40_001 }),
        refused('invalid_token'),
        'of somebody else',
      )
      close()
      clock.advance(TICKET_MS)
      t.match(await dial(calling, ticket), refused('invalid_token'), 'expired')
      const fresh = await ticketOf()
      disconnect()
      t.match(await dial(calling, fresh.ticket), refused('invalid_token'), 'the connection is closed')
      connect(calling, member.userId)
    },
  )

  await t.test('a signed-in browser calls nothing without a ticket', async (t) => {
    const invite = {
      ...{ sipCallId: 'abc', to: calling.number, from: 'x', transport: 'tcp', trunkId: null, ticket: null },
      ...{
        alternateTo: [],
        assertedIdentity: null,
        isPrivate: false,
        sourceAddress: '127.0.0.1',
        sourcePort: 40_002,
      },
    }
    const socket = new EventEmitter()
    const remote = { address: '127.0.0.1', port: 40_002 }
    deps.browserSip?.accept({ request: { socket }, remote } as unknown as WsUpgrade, member.userId)
    t.match(await deps.admission.admit(invite), { admit: false, sip: 403 })
    socket.emit('close')
    const admitted = await deps.admission.admit(invite)
    t.match(admitted, { admit: true }, 'which callers on this machine may')
    if (admitted.admit) await hangUp(admitted.callId)
  })

  await t.test('a draft is heard as it was when the ticket was made', async (t) => {
    const edit = (systemPrompt: string) =>
      calling.send('PATCH', `/v1/agents/${agentId}`, { json: { systemPrompt } })
    await edit('You are a draft.')
    const first = await ticketOf({ version: 'draft' })
    t.match(await dial(calling, first.ticket), {
      admit: true,
      party: { agent: { agentVersionId: null, systemPrompt: /You are a draft\./ } },
    })
    t.match(dataOf(await calling.send('GET', `/v1/calls/${first.callId}`)), { agentVersion: null, agentId })
    const { organizationId } = owner
    const row = await findCall(deps.db, { organizationId, environment: 'test' }, first.callId)
    const party = row === null ? null : await transferParty(deps, row)
    t.match(party, { kind: 'agent', spec: { systemPrompt: /You are a draft\./ } }, 'also for transfers')
    await hangUp(first.callId)
    const second = await ticketOf({ version: 'draft' })
    await edit('You are another draft.')
    t.match(await dial(calling, second.ticket), refused('conflict'))
    await edit('You are {{unknown}}.')
    t.match(await ask({ version: 'draft' }), {
      status: 422,
      body: { error: { code: 'unprocessable_entity', details: { path: 'systemPrompt' } } },
    })
    t.equal((await ask({})).status, 201, 'the published version is as before')
  })

  await t.test('what cannot be called gets no ticket', async (t) => {
    const code = async (json: object, who?: SignedIn) => {
      const { status, body } = await ask(json, who)
      return `${status} ${(body as { error: { code: string } }).error.code}`
    }
    t.equal(await code({ agentId: 'agt_01JZZZZZZZZZZZZZZZZZZZZZZZ' }), '404 not_found')
    t.equal(await code({ version: 7 }), '404 not_found')
    t.equal(await code({ variables: {} }), '422 missing_variables')
    t.equal(await code({ numberId: 'num_01JZZZZZZZZZZZZZZZZZZZZZZZ' }), '422 unprocessable_entity')
    t.equal(await code({ purpose: 'listen' }), '400 validation_error')
    t.equal(
      await code({
        variables: { a: 'x'.repeat(1_000), b: 'x'.repeat(1_000), c: 'x'.repeat(1_000), d: 'x'.repeat(1_000) },
      }),
      '400 validation_error',
    )
    const viewer = await signInMember(api, owner.organizationId, 'viewer')
    t.equal(await code({}, viewer), '403 forbidden')
    const { organizationId } = await calling.anotherOrganization()
    t.equal(await code({}, await signInMember(api, organizationId, 'owner')), '404 not_found')
    t.match(await calling.send('POST', '/v1/browser-calls', { json: {} }), { status: 401 }, 'no API key')
    for (let i = 0; i < 30; i++) await ask({})
    t.equal(await code({}), '429 rate_limited')
  })

  await t.test('a ticket lets somebody listen to a running call, or take it over', async (t) => {
    clock.advance(60_000)
    const admin = await signInMember(api, owner.organizationId, 'admin')
    const from = { sourcePort: 40_009 }
    const close = connect(calling, admin.userId, from.sourcePort)
    const json = { to: '+919876543210', numberId, variables: { mood: 'kind' } }
    const callId = String(dataOf(await calling.send('POST', '/v1/calls', { json })).id)
    const monitor = async (purpose: string) =>
      dataOf(await admin.send('POST', '/v1/browser-calls', { json: { purpose, callId } }))
    const refusal = async (json: object, who = admin) => {
      const { status, body } = await who.send('POST', '/v1/browser-calls', { json })
      const { code, details } = (body as { error: { code: string; details: unknown } }).error
      return [`${status} ${code}`, JSON.stringify(details)]
    }
    t.match(await refusal({ purpose: 'listen', callId }), ['409 call_not_live'], 'not yet')
    await calling.emitCallEvent(callId, { type: 'dialing', sipCallId: callId }, { type: 'answered' })
    t.match(await refusal({ purpose: 'listen' }), ['400 validation_error', /callId/])
    t.match(await refusal({ purpose: 'talk' }), ['400 validation_error', /agentId/])
    t.match(await refusal({ purpose: 'talk', agentId, callId }), ['400 validation_error', /callId/])
    t.match(await refusal({ purpose: 'takeover', callId, version: 1 }), ['400 validation_error', /version/])
    t.match(await refusal({ purpose: 'takeover', callId }, member), ['403 forbidden'], 'a developer')
    const unknown = 'call_01JZZZZZZZZZZZZZZZZZZZZZZZ'
    t.match(await refusal({ purpose: 'listen', callId: unknown }), ['404 not_found'])
    const { organizationId } = await calling.anotherOrganization()
    const stranger = await signInMember(api, organizationId, 'owner')
    t.match(await refusal({ purpose: 'listen', callId }, stranger), ['404 not_found'])

    const heard = await monitor('listen')
    t.match(heard, { callId, monitorId: /^mon_/, to: `sip:${callId}@127.0.0.1` })
    const joined = await dial(calling, String(heard.ticket), from)
    t.match(joined, {
      admit: 'joins',
      callId,
      srtp: 'required',
      joins: { kind: 'listen', id: heard.monitorId, by: admin.userId },
    })
    if (joined.admit !== 'joins' || joined.joins.kind !== 'listen') return
    const { mayListen } = joined.joins
    t.equal(await mayListen(), true)
    t.match(await dial(calling, String(heard.ticket), from), refused('token_used'))
    t.match(await dial(calling, String((await monitor('listen')).ticket), from), { admit: 'joins' })
    t.match(
      await dial(calling, String((await monitor('listen')).ticket), from),
      refused('too_many_listeners'),
    )

    const taken = await monitor('takeover')
    t.match(await dial(calling, String(taken.ticket), from), {
      admit: 'joins',
      joins: {
        kind: 'takeover',
        plan: { id: taken.monitorId, by: admin.userId, prompt: null },
      },
    })
    t.match(await dial(calling, String(taken.ticket), from), refused('token_used'))
    t.match(await dial(calling, String((await monitor('takeover')).ticket), from), refused('taken_over'))
    const about = {
      type: 'monitored',
      id: String(taken.monitorId),
      by: admin.userId,
      mode: 'takeover',
    } as const
    await calling.emitCallEvent(callId, { ...about, status: 'begun', outcome: null })
    await calling.emitCallEvent(callId, { ...about, status: 'over', outcome: 'left' })
    const { ticket: elsewhere } = await monitor('takeover')
    const { ticket: late } = await monitor('listen')
    await deps.db.updateTable('calls').set({ nodeId: 'node-2' }).where('id', '=', callId).execute()
    const { ticket: there } = await monitor('takeover')
    t.match(await dial(calling, String(there), from), refused('other_process'))
    await admin.send('PATCH', '/v1/organization', { json: { monitoring: { test: 'listen' } } })
    t.match(await dial(calling, String(elsewhere), from), refused('forbidden'))
    t.equal(await mayListen(), true)
    await admin.send('PATCH', '/v1/organization', { json: { monitoring: { test: 'off' } } })
    t.equal(await mayListen(), false, 'who listens already does not any more, either')
    await deps.db.updateTable('calls').set({ nodeId: deps.nodeId }).where('id', '=', callId).execute()
    await hangUp(callId)
    await admin.send('PATCH', '/v1/organization', { json: { monitoring: { test: 'listen_and_takeover' } } })
    for (const ticket of [elsewhere, late])
      t.match(await dial(calling, String(ticket), from), refused('call_ending'))
    const open = await deps.db
      .selectFrom('callMonitors')
      .select('id')
      .where('callId', '=', callId)
      .where('endedAt', 'is', null)
      .execute()
    t.same(open, [], 'nothing is left of it')
    const audit = await deps.db
      .selectFrom('auditEntries')
      .select(['action', 'actorId'])
      .where('subjectId', '=', callId)
      .where('action', 'like', 'call.takeover_%')
      .where('action', '<>', 'call.takeover_requested')
      .orderBy('id')
      .execute()
    t.same(audit, [
      { action: 'call.takeover_started', actorId: admin.userId },
      { action: 'call.takeover_ended', actorId: admin.userId },
    ])
    close()
  })

  await t.test('a full pool and blocked calling refuse the call', async (t) => {
    clock.advance(60_000)
    const many = []
    for (let i = 0; i < 6; i++) many.push(await ticketOf())
    const decisions = []
    for (const { ticket } of many) decisions.push(await dial(calling, ticket))
    t.equal(decisions.filter(({ admit }) => admit).length, 5)
    t.match(decisions.at(-1), { admit: false, sip: 486, headers: { 'X-Svc-Code': 'pool_full' } })
    const last = many.at(-1)?.callId ?? ''
    t.match(dataOf(await calling.send('GET', `/v1/calls/${last}`)), { status: 'ended' })
    const { ticket } = await ticketOf()
    await deps.db
      .insertInto('callingProfiles')
      .values({
        ...{ organizationId: owner.organizationId, enforcedAt: clock.wall(), enforcedReason: 'test' },
        ...{ windowStartMinute: null, windowEndMinute: null, agentCallsTest: null, agentCallsLive: null },
        ratePaisePerMinute: null,
      })
      .execute()
    t.match(await dial(calling, ticket), refused('blocked_opt_out'))
  })
  await calling.close()
})
