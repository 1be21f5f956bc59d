import { Alert, Button, Code, Group, Stack, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import encodeQr from 'qr'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import type { Result } from '../api.js'
import { useSession } from '../session.js'
import { Dialog, Form, KeptDialog } from './Dialog.js'
import { useFields } from './fields.js'
import { saveFile } from './files.js'
import { Problem } from './Problem.js'
import { useProvenAction } from './Proof.js'
import { makePasskey } from './passkey.js'

type Pending = Result<'addFactor'>

/**
 * Buttons that add an authenticator app or a passkey, and the windows that follow. New recovery codes are shown before
 * `done`. `origin`: where passkeys work, or null.
 */
export function AddFactor(props: { readonly origin: string | null; readonly done: () => void }) {
  const { origin, done } = props
  const t = useTranslations('security')
  const { api } = useSession()
  const [pending, setPending] = useState<Pending | null>(null)
  const [codes, setCodes] = useState<readonly string[] | null>(null)
  const added = ({ recoveryCodes }: Result<'confirmFactor'>): void => {
    setPending(null)
    if (recoveryCodes === null) done()
    else setCodes(recoveryCodes)
  }
  const passkey = useMutation<Result<'confirmFactor'>, Error, Pending>({
    mutationFn: async ({ id, passkey: options }) => {
      const attestation = await makePasskey(options ?? {})
      return api.confirmFactor({ id, body: { attestation } })
    },
    onSuccess: added,
  })
  const begin = useProvenAction(
    (kind: 'totp' | 'passkey') => api.addFactor({ body: { kind } }),
    (begun) => {
      passkey.reset()
      if (begun.kind === 'passkey') passkey.mutate(begun)
      else setPending(begun)
    },
  )
  const isHere = origin === location.origin
  const error = begin.error ?? passkey.error
  const isBusy = begin.action.isPending || passkey.isPending
  return (
    <Stack gap="sm">
      {error !== null && <Problem error={error} />}
      <Group gap="sm">
        <Button variant="default" loading={isBusy} onClick={() => begin.action.mutate('totp')}>
          {t('addApp')}
        </Button>
        {isHere && (
          <Button variant="default" loading={isBusy} onClick={() => begin.action.mutate('passkey')}>
            {t('addPasskey')}
          </Button>
        )}
      </Group>
      {!isHere && (
        <Text size="sm">{origin === null ? t('noPasskeys') : t('passkeysElsewhere', { origin })}</Text>
      )}
      {begin.asking}
      {pending !== null && <App pending={pending} added={added} close={() => setPending(null)} />}
      {codes !== null && (
        <RecoveryCodes
          codes={codes}
          close={() => {
            setCodes(null)
            done()
          }}
        />
      )}
    </Stack>
  )
}

/** The QR code for an authenticator app, and the code that it then shows. */
function App(props: {
  readonly pending: Pending
  readonly added: (confirmed: Result<'confirmFactor'>) => void
  readonly close: () => void
}) {
  const t = useTranslations('security')
  const { api } = useSession()
  const { pending, added, close } = props
  const form = useFields({ code: '' })
  const confirm = useMutation<Result<'confirmFactor'>, Error>({
    mutationFn: () => {
      const code = form.values.code.replaceAll(/\s/g, '')
      return api.confirmFactor({ id: pending.id, body: { code } })
    },
    onSuccess: added,
  })
  const { uri = '', secret = '' } = pending.totp ?? {}
  return (
    <Dialog title={t('addApp')} close={close}>
      <Form action={confirm} submit={t('confirm')}>
        <Text size="sm">{t('scan')}</Text>
        <QrCode text={uri} label={t('qr')} />
        <div>
          <Text size="sm">{t('typed')}</Text>
          <Code block tabIndex={0} style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
            {secret.replaceAll(/(.{4})(?=.)/g, '$1 ')}
          </Code>
        </div>
        <TextInput
          label={t('code')}
          inputMode="numeric"
          autoComplete="one-time-code"
          required
          data-autofocus
          {...form.text('code')}
        />
      </Form>
    </Dialog>
  )
}

/** Light and dark squares with a quiet zone. It is black on white in both colour schemes, as cameras expect. */
function QrCode({ text, label }: { readonly text: string; readonly label: string }) {
  const rows = encodeQr(text, 'raw', { border: 4 })
  const path = rows
    .flatMap((row, y) => row.flatMap((dark, x) => (dark ? [`M${x} ${y}h1v1h-1z`] : [])))
    .join('')
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${rows.length} ${rows.length}`}
      width="220"
      height="220"
      shapeRendering="crispEdges"
    >
      <rect width="100%" height="100%" fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  )
}

/** Recovery codes, which are shown once. */
export function RecoveryCodes(props: { readonly codes: readonly string[]; readonly close: () => void }) {
  const t = useTranslations('security')
  const tCommon = useTranslations('common')
  const { codes, close } = props
  const [copied, setCopied] = useState(false)
  const text = `${codes.join('\n')}\n`
  return (
    <KeptDialog
      title={t('recoveryCodes')}
      close={close}
      buttons={
        <>
          {/* Pages that were loaded over plain HTTP have no clipboard. */}
          {'clipboard' in navigator && (
            <Button
              variant="default"
              onClick={() => void navigator.clipboard.writeText(text).then(() => setCopied(true))}
            >
              {copied ? tCommon('copied') : tCommon('copy')}
            </Button>
          )}
          <Button
            variant="default"
            onClick={() => void saveFile(new Response(text), 'parley-recovery-codes.txt')}
          >
            {t('download')}
          </Button>
        </>
      }
    >
      <Alert color="orange">{t('codesHint')}</Alert>
      <Code block tabIndex={0} aria-label={t('recoveryCodes')}>
        {text.trimEnd()}
      </Code>
    </KeptDialog>
  )
}
