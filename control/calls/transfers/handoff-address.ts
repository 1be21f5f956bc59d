import type { Deps } from '../../api/deps.js'
import { writeAddressToken } from '../../base/signed-address.js'

const HANDOFF_MS = 24 * 3_600_000

/** Returns the address of the page that shows the person of a transfer what was said. It is the same each time. */
export function handoffAddress(
  { publicUrl, rootKey }: Pick<Deps, 'publicUrl' | 'rootKey'>,
  { id, requestedAt }: { readonly id: string; readonly requestedAt: number },
): string {
  const token = writeAddressToken(rootKey, 'handoff', { subject: id, expiresAt: requestedAt + HANDOFF_MS })
  return `${publicUrl()}/v1/handoff/${token}`
}
