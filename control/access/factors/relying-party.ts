import { isIP } from 'node:net'
import type { Deps } from '../../api/deps.js'

/** The host name and origin at which passkeys of this service work (WebAuthn, section 5.1.2). */
export interface RelyingParty {
  /** Host name, without port. */
  readonly id: string
  readonly origin: string
}

const LOOPBACKS = ['localhost', '127.0.0.1', '[::1]']

/**
 * Returns the relying party of the address at which users open the dashboard. Returns null if browsers make no
 * passkeys there: they want https and a host name, or `localhost` on the same machine.
 */
export function relyingParty(deps: Pick<Deps, 'settings' | 'publicUrl'>): RelyingParty | null {
  const url = new URL(deps.settings.dashboardUrl ?? deps.publicUrl())
  if (LOOPBACKS.includes(url.hostname)) {
    const port = url.port === '' ? '' : `:${url.port}`
    return { id: 'localhost', origin: `${url.protocol}//localhost${port}` }
  }
  if (url.protocol !== 'https:' || isIP(url.hostname.replace(/^\[|\]$/g, '')) !== 0) return null
  return { id: url.hostname, origin: url.origin }
}
