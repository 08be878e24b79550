"""Handlers of the queues."""


def handle_alpha(queue):
    job = queue.take()
    if job is None:
        return
    job.run(retries=3)
    queue.done(job)


def handle_beta(queue):
    job = queue.take()
    if job is None:
        return
    job.run(retries=3)
    queue.done(job)


def handle_gamma(queue):
    job = queue.take()
    if job is None:
        return
    job.run(retries=3)
    queue.done(job)


def handle_delta(queue):
    job = queue.take()
    if job is None:
        return
    job.run(retries=3)
    queue.done(job)


def handle_omega(queue):
    job = queue.take()
    if job is None:
        return
    job.run(retries=3)
    queue.done(job)
