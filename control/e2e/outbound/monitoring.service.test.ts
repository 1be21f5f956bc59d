import t from 'tap'
import { ListenClient, type ListenTicketView } from '../../../fixtures/api/listen-client.js'
import { type Json, openService } from '../../../fixtures/service/service.js'
import { openSession } from '../../../fixtures/service/session.js'

/* Listening and takeovers of the whole service: requests of a session, real SIP and RTP to simulated people. */

const PERSON = '+9190000000'

t.test(
  'a member hears a call, takes it over by telephone and gives it back',
  { timeout: 120_000 },
  async (t) => {
    const service = await openService(t, { virtual: true })
    const { httpUrl, firstStart } = service.parley
    const owner = { email: String(firstStart?.email), password: String(firstStart?.password) }
    const { send: session } = await openSession(httpUrl, owner)
    const { id: desk } = await service.api('POST', '/v1/transfer-destinations', {
      ...{ key: 'desk', label: 'Desk', e164: `${PERSON}12` },
    })
    await service.api('POST', `/v1/transfer-destinations/${desk}/verify`, {})
    await service.api('POST', `/v1/transfer-destinations/${desk}/confirm`, { code: '000000' })
    const agentId = await service.publishAgent({
      callSettings: {
        nudges: { enabled: false },
        recordingNotice: { text: 'This call may be monitored.' },
        transfer: { preTransferLine: { text: 'A colleague joins us now.' }, recordHumanSegment: true },
        maxCallSeconds: 300,
      },
    })
    // Talks for ever.
    const callId = await service.call(`${PERSON}09`, { agentId })
    await service.until('a greeting', () => service.of(callId, 'turn').length > 0)
    t.match(
      service.of(callId, 'turn')[0]?.turn.text,
      /^This call may be monitored\./,
      'the notice comes first',
    )

    const ticket = (await session('POST', `/v1/calls/${callId}/monitors`)) as unknown as ListenTicketView
    const client = new ListenClient(ticket)
    await service.until('both voices', () => client.loudest.every((level) => level > 3_000))
    t.match(client.told[0], { type: 'started', callId, sampleRate: 8000 })

    const steps = () => service.of(callId, 'monitored').filter(({ mode }) => mode === 'takeover')
    await session('POST', `/v1/calls/${callId}/takeover`, { destinationId: String(desk) })
    await service.until('the takeover', () => steps().length === 1)
    await session('POST', `/v1/calls/${callId}/release`, { message: 'Ask for the order number.' })
    await service.until('the return', () => steps().length === 2)
    await service.until('the note', () => service.of(callId, 'note').length === 1)
    t.match(service.of(callId, 'note')[0]?.text, /human colleague talked [\s\S]*Ask for the order number\.$/)
    const said = () => service.of(callId, 'turn').map(({ turn }) => `${turn.speaker}: ${turn.heardText}`)
    await service.until('the line of the agent', () => said().some((line) => /agent: .*I am back/.test(line)))
    t.ok(
      said().some((line) => line.includes('A colleague joins us')),
      'the caller was told',
    )

    // This one hangs up after a while.
    const again = () => session('POST', `/v1/calls/${callId}/takeover`, { destinationId: String(desk) })
    await again()
    await service.until('the second takeover', () => steps().length === 4)
    t.same(
      steps().map(({ status, outcome }) => `${status} ${outcome}`),
      ['begun null', 'over given_back', 'begun null', 'over left'],
    )
    t.equal(client.closed, null, 'the listener was there all the time')
    await service.api('POST', `/v1/calls/${callId}/hangup`, {})
    const call = await service.ended(callId)
    t.match(call, {
      charges: [{ kind: 'agent' }, { kind: 'human', ratePaisePerMinute: 200 }],
      hasRecording: true,
    })
    await service.until('the end of the listening', () => client.closed !== null)
    t.same(client.closed, { code: 1000, reason: 'call_ended' })
    const monitors = (await service.send('GET', `/v1/calls/${callId}/monitors`)).body.data as Json[]
    t.match(
      monitors.map(({ mode, outcome, endedAt }) => [mode, outcome, typeof endedAt]),
      [
        ['takeover', 'left', 'string'],
        ['takeover', 'given_back', 'string'],
        ['listen', null, 'string'],
      ],
    )
    const log = (await session('GET', '/v1/organization/audit-log?limit=20')) as unknown as Json[]
    const actions = log
      .map(({ action }) => String(action))
      .filter((action) => /listening|takeover|release/.test(action))
    t.same(actions.toSorted(), [
      'call.listening_ended',
      'call.listening_started',
      'call.release_requested',
      'call.takeover_ended',
      'call.takeover_ended',
      'call.takeover_requested',
      'call.takeover_requested',
      'call.takeover_started',
      'call.takeover_started',
    ])
  },
)
