import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { WebSocketServer } from 'ws'
import { ownCpuMs } from '../../fixtures/host/process-cpu.js'
import { Chat } from './chat.js'
import { Ledger } from './ledger.js'
import type { FromVendors, ToVendors, VendorOptions } from './messages.js'
import { Recognition } from './recognition.js'
import { Speech } from './speech.js'

/* All fake vendors of the bench behind one TLS port, controlled over IPC. */

function tell(message: FromVendors): void {
  process.send?.(message)
}

function start(options: VendorOptions): void {
  const ledger = new Ledger(options)
  const recognition = new Recognition(ledger)
  const chat = new Chat(ledger)
  const speech = new Speech(ledger)
  const accepted = new Map<string, (socket: import('ws').WebSocket) => void>([
    ['/speech-to-text/ws', (socket) => recognition.accept(socket)],
    ['/text-to-speech/ws', (socket) => speech.sarvam(socket)],
    ['/tts/websocket', (socket) => speech.cartesia(socket)],
  ])
  const server = createServer({ cert: options.certificate, key: options.key }, (request, response) => {
    if (request.url !== '/v1/chat/completions') {
      response.writeHead(404).end()
      return
    }
    chat.serve(request, response).catch((error: unknown) => response.destroy(error as Error))
  })
  // As real vendors do: a caller thinks longer than Node's default of five seconds.
  server.keepAliveTimeout = 75_000
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false })
  server.on('upgrade', (request, socket, head) => {
    const accept = accepted.get((request.url ?? '').split('?')[0] ?? '')
    if (accept === undefined) {
      socket.destroy()
      return
    }
    sockets.handleUpgrade(request, socket, head, accept)
  })
  process.on('message', (message: ToVendors) => {
    if (message.type === 'hears') {
      recognition.setTranscript(message.text)
      tell({ kind: 'heard' })
    } else if (message.type === 'report') {
      tell({
        kind: 'report',
        report: {
          turns: ledger.complete(),
          faults: ledger.faultMoments,
          cpuMs: ownCpuMs(),
        },
      })
    } else if (message.type === 'close') {
      process.exit(0)
    }
  })
  server.listen(0, '127.0.0.1', () => tell({ kind: 'ready', port: (server.address() as AddressInfo).port }))
}

process.once('message', (message: ToVendors) => {
  if (message.type === 'start') start(message.options)
})
process.on('disconnect', () => process.exit(0))
