import t from 'tap'
import {
  openRig,
  type TestApp,
  type TestDialog,
  type TestRequest,
  type TestResponse,
} from '../../../fixtures/rigs/embedded-rig.js'
import { runSipp, startSipp } from '../../../fixtures/sip/sipp.js'

/*
 * Calls with a reliable 183 between two sipp processes, over UDP and TCP: through an application
 * that connects two legs, and through one that proxies and stays in the path.
 */

interface Legs extends TestApp {
  createB2BUA(
    req: TestRequest,
    res: TestResponse,
    uri: string,
    options: object,
  ): Promise<{ uas: TestDialog; uac: TestDialog }>
}

type Proxied = TestRequest & { proxy(options: object): Promise<unknown> }

const BOTH = [
  { transport: 'udp', address: '127.0.0.1', port: 0 },
  { transport: 'tcp', address: '127.0.0.1', port: 0 },
] as const

for (const transport of ['udp', 'tcp'] as const) {
  for (const kind of ['back to back', 'proxied'] as const) {
    t.test(`${kind} over ${transport}`, async (t) => {
      const rig = await openRig(t, { listen: BOTH, timers: { T1: 500, T2: 4000, T4: 5000 } })
      const app = (await rig.app()) as Legs
      const proxied = kind === 'proxied'
      const callee = await startSipp({
        scenario: 'prack-callee',
        transport,
        replace: {
          // A callee behind a proxy sends back every Via and the recorded route.
          VIAS: proxied ? 'Via:[$via1]\n      Via:[$via2]' : 'Via:[$via1]',
          ROUTES: proxied ? 'Record-Route:[$route]' : 'Subject: back to back',
        },
      })
      const uri = `sip:callee@127.0.0.1:${callee.port}${transport === 'tcp' ? ';transport=tcp' : ''}`
      app.use('invite', (req, res) => {
        if (proxied) {
          void (req as Proxied).proxy({ destination: [uri], remainInDialog: true })
          return
        }
        const headers = { proxyRequestHeaders: ['Supported'], proxyResponseHeaders: ['all'] }
        void app.createB2BUA(req, res, uri, headers).then(({ uas, uac }) => {
          uas.on('destroy', () => void uac.destroy())
        })
      })
      await rig.routed(app)
      const port = rig.server.endpoints.find((endpoint) => endpoint.transport === transport)?.port ?? 0
      const target = { host: '127.0.0.1', port }
      await runSipp({ scenario: 'prack-caller', transport, target })
      await callee.done
      await rig.routed(app)
      t.equal(rig.server.stats().dialogs, 0)
    })
  }
}
