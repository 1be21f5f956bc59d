import { networkInterfaces } from 'node:os'
import t from 'tap'
import { openRtpPeer } from '../../../fixtures/rtp/rtp-peer.js'
import { type Json, openService } from '../../../fixtures/service/service.js'
import { offerOf } from '../../../fixtures/sip/phone.js'
import { openSipPeer } from '../../../fixtures/sip/sip-peer.js'

/*
 * Only this machine can call a number of the test environment, over loopback.
 */

const outside = Object.values(networkInterfaces())
  .flat()
  .find((entry) => entry !== undefined && entry.family === 'IPv4' && !entry.internal)?.address

const skip = outside === undefined ? 'this machine has no address but loopback' : false

t.test('a caller from an address other than loopback gets 403 and leaves no row', { skip }, async (t) => {
  const service = await openService(t, {
    env: { PARLEY_SIP_LISTEN: 'udp:0.0.0.0:0,tcp:0.0.0.0:0', PARLEY_RTP_ADDRESS: '127.0.0.1' },
  })
  for (const transport of ['udp', 'tcp'] as const) {
    for (const address of [outside ?? '', '127.0.0.1']) {
      const peer = await openSipPeer({ transport, address })
      t.teardown(() => peer.close())
      const rtp = await openRtpPeer({ codec: 'PCMA' })
      t.teardown(() => rtp.close())
      const { port } = service.target(transport)
      // Over TCP the source is the interface that routes to the target.
      const dialog = peer.invite({
        uri: `sip:${service.number}@${address}:${port}`,
        target: { address, port },
        from: `sip:+919800000001@${address}`,
        sdp: offerOf(rtp),
      })
      const local = address === '127.0.0.1'
      t.equal(await dialog.final(), local ? 200 : 403, `${transport} from ${local ? 'loopback' : 'outside'}`)
      if (local) dialog.bye()
    }
  }
  await service.until('the end', () => service.events.filter(({ type }) => type === 'ended').length === 2)
  const calls = (await service.send('GET', '/v1/calls')).body.data as Json[]
  t.equal(calls.length, 2, 'only those from loopback')
})
