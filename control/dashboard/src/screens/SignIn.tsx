import { Anchor, Button, Container, Paper, PasswordInput, Stack, TextInput, Title } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { type FormEvent, lazy, Suspense, useState } from 'react'
import { useTranslations } from 'use-intl'
import { type Result, SessionApi } from '../api.js'
import { Problem } from '../parts/Problem.js'
import { challengeOf } from '../parts/passkey.js'

/** Loads while the page is shown. */
const ProofForm = lazy(() => import('../parts/Proof.js').then((module) => ({ default: module.ProofForm })))

/** Signs in with an email address and a password, and then with a second factor if the account has one. */
export function SignIn() {
  const t = useTranslations('signIn')
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const tProof = useTranslations('proof')
  const [api] = useState(() => new SessionApi({ environment: 'test', organizationId: null }))
  const enter = (session: Result<'logIn'>): void => {
    queries.setQueryData(['session'], session)
    // The environment is never remembered: a new session begins in the test environment.
    void navigate({ to: '/$environment', params: { environment: 'test' } })
  }
  const signIn = useMutation({
    mutationFn: () => api.logIn({ body: { email, password } }),
    onSuccess: enter,
  })
  const challenge = challengeOf(signIn.error)
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    signIn.mutate()
  }
  if (challenge !== null) {
    return (
      <Container component="main" size={420} py="xl">
        <Title order={1} size="h2" mb="md">
          {tProof('title')}
        </Title>
        <Paper withBorder p="lg">
          <Stack>
            <Suspense>
              <ProofForm api={api} challenge={challenge} done={enter} />
            </Suspense>
            <Anchor component="button" type="button" underline="always" onClick={signIn.reset}>
              {t('again')}
            </Anchor>
          </Stack>
        </Paper>
      </Container>
    )
  }
  return (
    <Container component="main" size={420} py="xl">
      <Title order={1} size="h2" mb="md">
        {t('title')}
      </Title>
      <Paper withBorder p="lg">
        <form onSubmit={submit}>
          <Stack>
            {signIn.error !== null && <Problem error={signIn.error} />}
            <TextInput
              label={t('email')}
              type="email"
              name="email"
              autoComplete="username"
              required
              value={email}
              onChange={({ currentTarget }) => setEmail(currentTarget.value)}
            />
            <PasswordInput
              label={t('password')}
              name="password"
              visibilityToggleButtonProps={{ 'aria-label': t('show') }}
              autoComplete="current-password"
              required
              value={password}
              onChange={({ currentTarget }) => setPassword(currentTarget.value)}
            />
            <Button type="submit" loading={signIn.isPending}>
              {t('submit')}
            </Button>
            <Anchor underline="always" href={new URL('../forgot-password', document.baseURI).href}>
              {t('forgot')}
            </Anchor>
            <Anchor underline="always" component={Link} to="/sign-up">
              {t('noAccount')}
            </Anchor>
          </Stack>
        </form>
      </Paper>
    </Container>
  )
}
