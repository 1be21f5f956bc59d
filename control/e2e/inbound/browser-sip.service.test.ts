import t from 'tap'
import { WebSocket } from 'ws'
import { request } from '../../../fixtures/rigs/embedded-rig.js'
import { type Json, openService } from '../../../fixtures/service/service.js'
import { openSession, type Session } from '../../../fixtures/service/session.js'
import { openWsPeer, type WsTestPeer } from '../../../fixtures/sip/ws-peer.js'

/* SIP over WebSocket as a page of the dashboard opens it, and everything that is refused there, in HTTP and in SIP. */

/** As Chromium writes it, without candidates. */
const OFFER = [
  ...['v=0', 'o=- 46117 2 IN IP4 127.0.0.1', 's=-', 't=0 0', 'a=group:BUNDLE 0'],
  ...['m=audio 9 UDP/TLS/RTP/SAVPF 111 8', 'c=IN IP4 0.0.0.0', 'a=rtcp:9 IN IP4 0.0.0.0'],
  ...['a=ice-ufrag:EsAw', 'a=ice-pwd:bP+XJMM09aR8AiX1jdukzR6Y', 'a=ice-options:trickle'],
  `a=fingerprint:sha-256 ${Array.from({ length: 32 }, () => 'A7').join(':')}`,
  ...['a=setup:actpass', 'a=mid:0', 'a=sendrecv', 'a=rtcp-mux'],
  ...['a=rtpmap:111 opus/48000/2', 'a=fmtp:111 minptime=10;useinbandfec=1', 'a=rtpmap:8 PCMA/8000', ''],
].join('\r\n')
const TICKET_S = 60

t.test('what is refused over the WebSocket of the dashboard', { timeout: 120_000 }, async (t) => {
  const service = await openService(t, { virtual: true })
  const { httpUrl, firstStart } = service.parley
  const owner = { email: String(firstStart?.email), password: String(firstStart?.password) }
  const session = await openSession(httpUrl, owner)
  const path = '/v1/browser-calls/sip'
  const url = `${httpUrl.replace('http', 'ws')}${path}`
  const agentId = await service.publishAgent({ callSettings: { nudges: { enabled: false } } })
  const peers: WsTestPeer[] = []
  const connect = async ({ cookie }: Pick<Session, 'cookie'> = session) => {
    const peer = await openWsPeer(url, { headers: { cookie, origin: httpUrl } })
    peers.push(peer)
    return peer
  }
  t.teardown(async () => {
    await Promise.all(peers.map((peer) => peer.close()))
  })

  /** Status of a handshake that is refused. */
  const handshake = (headers: Record<string, string>, at = url) =>
    new Promise<number>((resolve, reject) => {
      const socket = new WebSocket(at, ['sip'], { headers })
      socket.on('open', () => reject(new Error('the handshake was accepted')))
      socket.on('error', () => {})
      socket.on('unexpected-response', (_request, response) => {
        response.resume()
        resolve(response.statusCode ?? 0)
        socket.terminate()
      })
    })
  const { cookie } = session
  t.equal(await handshake({ cookie, origin: 'https://elsewhere.example' }), 403, 'another origin')
  t.equal(await handshake({ cookie }), 403, 'no origin')
  t.equal(await handshake({ origin: httpUrl }), 403, 'no session')
  t.equal(await handshake({ cookie: 'svc_session=made-up', origin: httpUrl }), 403, 'a session that is none')
  t.equal(await handshake({ cookie, origin: httpUrl }, `${url}/more`), 404, 'another path')

  const page = await connect()
  /** Sends an INVITE, and returns its final answer: status, `X-Svc-Code` and the headers. */
  const call = async (to: string, ticket: string | null, from = page) => {
    const headers = ticket === null ? {} : { Authorization: `Bearer ${ticket}` }
    const seen = from.seen.length
    const transport = 'WS'
    from.send(request('INVITE', from, headers, OFFER, { uri: `sip:${to}@127.0.0.1`, transport }))
    const final = () => from.seen.slice(seen).find((message) => /^SIP\/2.0 [2-6]/.test(message.start))
    await service.until(`an answer to the INVITE of ${to}`, () => final() !== undefined)
    const answer = final()
    return `${answer?.start.split(' ')[1]} ${answer?.header('X-Svc-Code') ?? ''}`.trim()
  }
  const ticketOf = async (body: Json, { send } = session) =>
    (await send('POST', '/v1/browser-calls', body)) as unknown as {
      readonly ticket: string
      readonly callId: string
    }
  const talk = { purpose: 'talk', agentId }

  t.equal(await call(agentId, null), '403', 'no ticket')
  t.equal(await call(service.number, null), '403', 'nor a number')
  t.equal(await call(agentId, 'not-a-ticket'), '403 invalid_token')
  const { ticket: late } = await ticketOf(talk)
  const from = service.clock.now()
  await service.until('the expiry', () => service.clock.now() - from > TICKET_S * 1000, 2 * TICKET_S * 1000)
  t.equal(await call(agentId, late), '403 invalid_token', 'expired')

  const { ticket, callId } = await ticketOf(talk)
  t.equal(await call('agt_01JZZZZZZZZZZZZZZZZZZZZZZZ', ticket), '403 wrong_target', 'another agent')
  t.equal(await call(agentId, ticket), '200', 'which does not use it up')
  t.equal(await call(agentId, ticket), '403 token_used')
  await session.send('POST', `/v1/calls/${callId}/hangup`)
  await service.ended(callId)
  t.equal(await call(agentId, ticket), '403 token_used', 'also after the call')

  const running = await service.call('+919000000009', { agentId })
  await service.until('a greeting', () => service.of(running, 'turn').length > 0)
  const heard = await session.send('POST', `/v1/calls/${running}/monitors`)
  t.equal(await call(running, String(heard.ticket)), '403 invalid_token', 'a ticket of another purpose')
  const listen = { purpose: 'listen', callId: running }
  const { ticket: ofListener } = await ticketOf(listen)
  t.equal(await call(agentId, ofListener), '403 wrong_target', 'it is not for talking')
  const takeover = { purpose: 'takeover', callId: running }
  const { ticket: allowed } = await ticketOf(takeover)
  await session.send('PATCH', '/v1/organization', { monitoring: { test: 'listen' } })
  t.equal(await call(running, allowed), '403 forbidden', 'the organization does not allow it any more')
  t.equal(await call(running, ofListener), '200', 'listening it does')
  t.equal(await call(running, ofListener), '403 token_used')
  t.equal(await call(running, (await ticketOf(listen)).ticket), '200')
  t.equal(await call(running, (await ticketOf(listen)).ticket), '403 too_many_listeners')
  await session.send('PATCH', '/v1/organization', { monitoring: { test: 'listen_and_takeover' } })
  t.equal(await call(running, (await ticketOf(takeover)).ticket), '200')
  t.equal(await call(running, (await ticketOf(takeover)).ticket), '403 taken_over')
  await session.send('POST', `/v1/calls/${running}/hangup`)
  await service.ended(running)
  t.equal(await call(running, allowed), '403 call_ending')

  while (peers.length < 8) await connect()
  t.equal(await handshake({ cookie, origin: httpUrl }), 503, 'the ninth connection')
})
