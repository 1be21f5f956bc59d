import t from 'tap'
import { assertNothingLeft } from '../../fixtures/host/leaks.js'
import { until } from '../../fixtures/host/until.js'
import { openSignallingRig, TEST_NUMBER, testAgent } from '../../fixtures/rigs/signalling-rig.js'
import type { SipDialog } from '../../fixtures/sip/sip-dialog.js'
import { openSipPeer } from '../../fixtures/sip/sip-peer.js'
import type { SrtpPolicy } from '../sdp/sdp-crypto.js'

/*
 * The effect of a trunk's `srtp` setting on the wire.
 */

assertNothingLeft(t)

const KEYS = ['WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz', 'PS1uQCVeeCFCanVmcjkpPywjNWhcYD0mXXtxaVBR']
const crypto = (tag: number, key = KEYS[0]) => `a=crypto:${tag} AES_CM_128_HMAC_SHA1_80 inline:${key}`

function sdp(protocol: string, ...attributes: readonly string[]): string {
  const head = ['v=0', 'o=- 1 1 IN IP4 127.0.0.1', 's=-', 'c=IN IP4 127.0.0.1', 't=0 0']
  return [...head, `m=audio 4000 ${protocol} 8`, ...attributes, ''].join('\r\n')
}

type Assert = Pick<typeof t, 'teardown'>

async function inbound(t: Assert, srtp: SrtpPolicy, offer: string) {
  const rig = await openSignallingRig({
    admit: async () => ({
      admit: true,
      callId: 'call_in',
      party: { kind: 'agent', agent: testAgent },
      codecs: ['PCMA'],
      srtp,
      recordTo: null,
    }),
  })
  t.teardown(() => rig.close())
  const peer = await openSipPeer()
  t.teardown(() => peer.close())
  const call = peer.invite({
    uri: `sip:${TEST_NUMBER}@127.0.0.1:${rig.udp}`,
    target: { address: '127.0.0.1', port: rig.udp },
    sdp: offer,
  })
  return { ...rig, call, status: await call.final() }
}

t.test(
  'inbound, SRTP required: an offer without keys is rejected, one with keys is answered with RTP/SAVP',
  async (t) => {
    const refused = await inbound(t, 'required', sdp('RTP/AVP'))
    t.equal(refused.status, 488)
    t.match((await refused.ended()).ending, { cause: 'carrier_error', fault: 'carrier', sip: 488 })
    t.strictSame(refused.types(), ['ended'], 'it does not ring')
    t.equal(refused.pool.sessions.size, 0)

    const served = await inbound(t, 'required', sdp('RTP/SAVP', crypto(7)))
    t.equal(served.status, 200)
    t.match(
      served.call.remoteSdp,
      /m=audio \d+ RTP\/SAVP 8\r\n(?:.*\r\n)*a=crypto:7 AES_CM_128_HMAC_SHA1_80 inline:/,
    )
    await until(() => served.types().includes('answered'))
    t.match(served.pool.only().remotes, [
      {
        srtp: {
          suite: 'AES_CM_128_HMAC_SHA1_80',
          receive: { keyAndSalt: Buffer.from(KEYS[0] ?? '', 'base64') },
        },
      },
    ])
  },
)

t.test('inbound, SRTP off: optional keys are ignored, an offer that requires SRTP is rejected', async (t) => {
  const clear = await inbound(t, 'off', sdp('RTP/AVP', crypto(1)))
  t.equal(clear.status, 200)
  t.notMatch(clear.call.remoteSdp, /crypto/)
  t.equal((await inbound(t, 'off', sdp('RTP/SAVP', crypto(1)))).status, 488)
})

t.test('new keys in a re-INVITE reach the media; a downgrade of required SRTP does not', async (t) => {
  const { call, pool, types } = await inbound(t, 'required', sdp('RTP/SAVP', crypto(1)))
  await until(() => types().includes('answered'))
  call.reinvite(sdp('RTP/SAVP', crypto(1, KEYS[1])))
  t.equal(await call.final(), 200)
  call.reinvite(sdp('RTP/AVP'))
  t.equal(await call.final(), 488)
  const keys = pool.only().remotes.map(({ srtp }) => srtp)
  t.strictSame(
    keys.map((each) => Buffer.from(each?.receive.keyAndSalt ?? []).toString('base64')),
    KEYS,
  )
  t.same(keys[0]?.send, keys[1]?.send, 'ours stays')
})

async function outbound(t: Assert, srtp: SrtpPolicy, answer: (call: SipDialog) => void) {
  const rig = await openSignallingRig()
  t.teardown(() => rig.close())
  const calls: SipDialog[] = []
  const peer = await openSipPeer({
    onInvite: (call) => {
      calls.push(call)
      answer(call)
    },
  })
  t.teardown(() => peer.close())
  rig.callManager.dial(rig.permit('call_out', '+919800000001'), {
    party: { kind: 'agent', agent: testAgent },
    gateway: { host: '127.0.0.1', port: peer.port, transport: 'udp', codecs: ['PCMA'], srtp },
    ringTimeoutMs: 5000,
    recordTo: null,
  })
  await until(() => calls.length > 0)
  return { ...rig, offer: calls[0]?.remoteSdp ?? '' }
}

t.test('outbound: optional keys are not sent over an unencrypted transport, required ones are', async (t) => {
  const optional = await outbound(t, 'optional', (call) => call.answer(sdp('RTP/AVP')))
  t.match(optional.offer, /RTP\/AVP/)
  t.notMatch(optional.offer, /crypto/)
  await until(() => optional.types().includes('answered'))

  const required = await outbound(t, 'required', (call) => call.answer(sdp('RTP/SAVP', crypto(3))))
  t.match(required.offer, /m=audio \d+ RTP\/SAVP 8/)
  await until(() => required.types().includes('answered'))
  t.match(required.pool.only().remotes, [{ srtp: { suite: 'AES_CM_128_HMAC_SHA1_80' } }])
})
