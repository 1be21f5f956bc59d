import type { Core } from '../core.js'
import { hangUp } from '../dialog/in-dialog-request.js'
import { RETRY_AFTER_S } from '../limits.js'
import { finishIncoming } from '../user-agent/responses.js'
import type { App } from './control-port.js'

/**
 * Handles the disconnect of an application. Pending requests of peers are answered 503, INVITEs of the
 * application are cancelled, and after a grace period its calls are ended, because a dialog belongs to the
 * connection that created it.
 */
export function onAppDisconnected(core: Core, app: App): void {
  for (const incoming of [...core.incoming.values(), ...core.updates.values()]) {
    if (incoming.app !== app) continue
    finishIncoming(core, incoming, 503, [{ name: 'Retry-After', value: String(RETRY_AFTER_S) }])
  }
  for (const outgoing of [...core.outgoing.values()]) {
    if (outgoing.app === app) outgoing.abort()
  }
  if (!core.dialogs.all().some((dialog) => dialog.app === app)) return
  core.scope.after(core.clock, core.timers.appDisconnectGrace, () => {
    for (const dialog of core.dialogs.all()) {
      if (dialog.app !== app) continue
      if (dialog.method === 'INVITE') hangUp(core, dialog, null)
      else core.dialogs.remove(dialog)
    }
  })
}
