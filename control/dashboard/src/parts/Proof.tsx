import { Anchor, Button, Divider, Stack, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { useTranslations } from 'use-intl'
import type { VerifyLoginBody } from '../../../../clients/typescript/generated/types.js'
import type { Result, SessionApi } from '../api.js'
import { useSession } from '../session.js'
import { Dialog } from './Dialog.js'
import { useAction } from './List.js'
import { Problem } from './Problem.js'
import { askPasskey, type Challenge, challengeOf } from './passkey.js'

type Proof = Omit<VerifyLoginBody, 'challengeId'>

/** Asks for a second factor: a code, a passkey or a recovery code. */
export function ProofForm(props: {
  readonly api: SessionApi
  readonly challenge: Challenge
  readonly done: (session: Result<'verifyLogin'>) => void
}) {
  const { api, challenge, done } = props
  const t = useTranslations('proof')
  const { challengeId, factors, passkey } = challenge
  const hasCode = factors.includes('totp')
  const [code, setCode] = useState('')
  const [recovering, setRecovering] = useState(!hasCode && passkey === null)
  const verify = useMutation({
    mutationFn: async (proof: () => Promise<Proof>) =>
      api.verifyLogin({ body: { challengeId, ...(await proof()) } }),
    onSuccess: done,
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    const typed = code.trim()
    verify.mutate(async () => (recovering ? { recoveryCode: typed } : { code: typed.replaceAll(' ', '') }))
  }
  return (
    <Stack>
      {verify.error !== null && <Problem error={verify.error} />}
      {passkey !== null && !recovering && (
        <>
          <Button
            loading={verify.isPending}
            onClick={() => verify.mutate(async () => ({ assertion: await askPasskey(passkey) }))}
          >
            {t('passkey')}
          </Button>
          {hasCode && <Divider label={t('or')} />}
        </>
      )}
      {(hasCode || recovering) && (
        <form onSubmit={submit}>
          <Stack>
            <TextInput
              key={String(recovering)}
              name="code"
              label={recovering ? t('recoveryCode') : t('code')}
              description={recovering ? t('recoveryHint') : t('codeHint')}
              autoComplete="one-time-code"
              inputMode={recovering ? 'text' : 'numeric'}
              required
              data-autofocus
              value={code}
              onChange={({ currentTarget }) => setCode(currentTarget.value)}
            />
            <Button type="submit" loading={verify.isPending}>
              {t('submit')}
            </Button>
          </Stack>
        </form>
      )}
      {factors.includes('recovery_code') && (hasCode || passkey !== null) && (
        <Anchor
          component="button"
          type="button"
          underline="always"
          onClick={() => {
            setCode('')
            setRecovering(!recovering)
          }}
        >
          {recovering ? t('otherWay') : t('lost')}
        </Anchor>
      )}
      {factors.length === 0 && <Text size="sm">{t('none')}</Text>}
    </Stack>
  )
}

/**
 * As `useAction`, for a change that may need a proof of a second factor. `asking` is the window that asks for the
 * proof and then repeats the change.
 */
export function useProvenAction<R, V = void>(
  run: (input: V) => Promise<R>,
  then: (result: R) => void = () => {},
) {
  const t = useTranslations('proof')
  const { api } = useSession()
  const action = useAction<R, V>(run, then)
  const challenge = challengeOf(action.error)
  const asking = challenge !== null && (
    <Dialog title={t('title')} close={action.reset}>
      <Text size="sm">{t('change')}</Text>
      <ProofForm api={api} challenge={challenge} done={() => action.mutate(action.variables as V)} />
    </Dialog>
  )
  return { action, asking, error: challenge === null ? action.error : null }
}
